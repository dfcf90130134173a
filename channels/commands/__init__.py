"""The subcommands of `placet`, one module per subject."""
