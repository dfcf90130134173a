"""The support-mail domain's judgement."""
