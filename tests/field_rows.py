"""How approvals fail in the field, row by row: what happened, and what must hold here.

The ids are those of the case data; S rows are the silent failures that must be
impossible. A row with `missing` needs what is not built yet, in part or as a whole.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One kind of failure, in our own words."""

    id: str
    situation: str
    holds: str
    missing: str = ""


NOTICES = "notices to reviewers"
HTTP = "the HTTP API and the review page"

ROWS = (
    Row(
        "A1",
        "A step runs again after the approval and the model says something else.",
        "Only the approved bytes run; another version is asked for first.",
    ),
    Row(
        "A2",
        "Something rewrites an argument after it was checked.",
        "What is shown, hashed and executed is one thing; rewritten bytes are blocked.",
    ),
    Row(
        "A3",
        "The payload points to content that changes after the approval.",
        "Content is hashed when asked and compared when used.",
    ),
    Row(
        "A4",
        "An edit turns one action into another.",
        "Refused as an edit: it is another action.",
    ),
    Row(
        "A6",
        "An item's id comes back with other arguments or for another tool.",
        "Refused; what is executed is read from the stored bytes.",
    ),
    Row("A7", "A verdict on an id that nobody gave out.", "Not found, and no verdict."),
    Row(
        "A9",
        "The agent's own text says that it is approved.",
        "Text is text: only the ledger grants.",
    ),
    Row(
        "A10",
        "A page from before the item was asked again is used.",
        "Refused with the present version named; that one is untouched.",
    ),
    Row(
        "A11",
        "The answer to a loop's first turn opens the second one.",
        "Each turn has its own key, and an answer is consumed once.",
    ),
    Row(
        "A13",
        "Two actions of one request wait at once.",
        "Each has its own id and digest; verdicts neither merge nor swap.",
    ),
    Row(
        "A15",
        "Somebody approves a summary of what has changed since.",
        "The digest of what was seen comes with the verdict, and is refused.",
        f"{NOTICES}, for the same from one of them",
    ),
    Row(
        "A16",
        "One meaning is written in several ways, or two meanings alike.",
        "Same meaning, same digest; nothing is guessed.",
    ),
    Row(
        "A17",
        "Only a field that changes nothing differs at the retry.",
        "Every field counts, an unknown one too.",
        "a way for a tool to declare fields that are only for show",
    ),
    Row(
        "A20",
        "Whoever calls says which arguments count.",
        "The tool says it, nobody else: refused.",
    ),
    Row(
        "A21",
        "A way in sends the payload back with its numbers as texts.",
        "An approval brings no payload, and one that does is refused.",
    ),
    Row(
        "A22",
        "A newer version comes while the old one looks approved.",
        "Earlier approvals are void, and shown with their version.",
    ),
    Row(
        "A23",
        "What must not exist yet is approved, and done twice.",
        "Absence is asserted like any version; an approval is spent once.",
    ),
    Row("A24", "An edit and an approval at once.", "One of the two is taken."),
    Row(
        "B1",
        "Decided in time, and the deadline's alarm goes off later.",
        "It ends only what still waits.",
    ),
    Row(
        "B2",
        "A waiting process is given up and comes back.",
        "The newer one has the request; the old one changes and sends nothing.",
    ),
    Row("B4", "A lease's renewal meets no row.", "That is a lease that was lost."),
    Row(
        "B7",
        "A step is tried again though its tool has acted.",
        "The claim's result is returned and nobody is called.",
    ),
    Row(
        "B8",
        "Two people approve in the same instant.",
        "One approval; the other one is told of it.",
    ),
    Row(
        "B10",
        "The answer to a request is lost and the request is sent again.",
        "The same request with the same item.",
    ),
    Row(
        "B11",
        "One wait is resumed twice, with different outcomes.",
        "The second is a conflict that names what is recorded.",
    ),
    Row(
        "B12",
        "An approval and a rejection both take effect.",
        "One of them, whichever way they come.",
    ),
    Row("B13", "Rejected, and done all the same.", "No way leads to the effect."),
    Row(
        "B15",
        "Something is cancelled between the check and the step.",
        "Check and step are one transaction.",
    ),
    Row(
        "B16",
        "A verdict on what is decided is answered with success.",
        "Refused with the verdict on record.",
    ),
    Row(
        "B17",
        "Approved, begun, broken; and now nothing moves it.",
        "Verdict, resume and execution are recorded apart, and each goes on by itself.",
    ),
    Row(
        "C1",
        "The verdict is recorded and the run cannot be woken.",
        "The verdict stays, the answer says so, and the supervisor wakes the run.",
    ),
    Row("C3", "Answered by another way than it was asked.", "It goes on the same."),
    Row("C5", "kill -9 while it waits; then a verdict.", "It is done once."),
    Row(
        "C6",
        "The request runs inside another flow.",
        "Refused at its start, since Prefect could not suspend it there.",
    ),
    Row(
        "C7",
        "The server was restarted while something waits.",
        "It is found by its id: no memory is needed.",
    ),
    Row(
        "C8",
        "The verdict comes before the flow has begun to wait.",
        "It is taken, and there is no wait.",
    ),
    Row(
        "C10",
        "Minutes go by between verdict and effect.",
        "The lag is measured and shown.",
        "a report of waiting times (both moments are in the trail)",
    ),
    Row(
        "C11",
        "A crash between an item and its deadline.",
        "They are one transaction.",
    ),
    Row(
        "C12",
        "A verdict meets the wait as it is being set up.",
        "It is taken, or found by the supervisor.",
    ),
    Row(
        "C14",
        "Success is told and the item stands where it stood.",
        "The answer carries the state that was written.",
    ),
    Row(
        "C16",
        "A way in does not know a kind of question.",
        "Every kind is shown; an unknown one is refused aloud.",
    ),
    Row(
        "C17",
        "A person answers in the moment of expiry.",
        "The first one writes, the other one reads it.",
    ),
    Row(
        "C19",
        "One row of the supervisor's batch is broken.",
        "The others have their turn, and it is reported.",
    ),
    Row(
        "C20",
        "The run is run again after the verdict.",
        "What is asked anew is a new version; the old verdict stays and is not used.",
    ),
    Row("C22", "The worker's process is gone.", "Any other one goes on."),
    Row(
        "C23",
        "The effect is reached by a path without the gate.",
        "The gate is in the effect.",
    ),
    Row(
        "C25",
        "The effect is called directly or from a subflow.",
        "The gate is in the effect.",
    ),
    Row(
        "C26",
        "A way in cannot show what is asked.",
        "It says so before anything begins.",
    ),
    Row("C28", "Two requests wait and one is answered.", "Only that one goes on."),
    Row(
        "C29",
        "Nobody waits for the answer any more.",
        "It is said, with how the request is put back to work.",
        "a mark in the queue itself (the status and the supervisor tell it)",
    ),
    Row(
        "D1",
        "A mail scanner fetches every link of a notice.",
        "To look never decides.",
        f"{NOTICES}, {HTTP}",
    ),
    Row(
        "D2",
        "A chat program previews the links of a notice.",
        "To look never decides.",
        f"{NOTICES}, {HTTP}",
    ),
    Row("D4", "Enter is pressed in the terminal.", "That is no approval."),
    Row(
        "D5",
        "The time runs out.",
        "It expires, noticed by whoever works on it or by the supervisor.",
    ),
    Row(
        "D7",
        "A rule is configured and nothing reads it.",
        "Each rule changes what happens; one that nothing reads is refused.",
        "escalation (its rules are refused as unknown)",
    ),
    Row(
        "D8",
        "Something expired is still on the list.",
        "It has no form and is not in the queue; a verdict is told so.",
    ),
    Row(
        "D10",
        "An expiry reads like a rejection.",
        "Other states, other events, another end.",
    ),
    Row(
        "D12",
        "A notice could not be delivered.",
        "An alarm, and on record.",
        NOTICES,
    ),
    Row("D13", "There is no verdict at all.", "Not approved."),
    Row(
        "D14",
        "A made-up resume, or a run that somebody sets to Running.",
        "Nothing runs, and it is asked again.",
    ),
    Row(
        "P4",
        "Prefect refuses a resume inside a success.",
        "The answer's body, or the state, is read.",
    ),
    Row(
        "P5",
        "Four resumes of one run at once.",
        "One is taken; whoever lost reads how the run stands.",
    ),
    Row("P8", "Two tasks pause one run.", "One wait, with everything that is asked."),
    Row(
        "P9",
        "The run pauses anew before the answer was polled.",
        "The answer is read from where it is kept; Prefect only wakes.",
    ),
    Row(
        "P10",
        "A pause's key has a capital and its form cannot be stored.",
        "Keys are small letters, digits and hyphens.",
    ),
    Row(
        "P12",
        "A pause under the same key deletes the earlier answer.",
        "The ledger had it first, and no key is used twice.",
    ),
    Row("S2", "The same hash is executed for another tenant.", "Blocked."),
    Row("S3", "Edited, and executed without a new approval.", "Asked again."),
    Row("S4", "Something waits for ever.", "Every wait has an end of its own."),
    Row(
        "S5",
        "Nobody can tell any more what was approved.",
        "The packet is made again from stored bytes, byte for byte.",
    ),
    Row("S6", "A retry resumes twice.", "An outcome is consumed once."),
    Row("S7", "One resume sends twice.", "A claim opens the gate once."),
    Row("S8", "One key executes two payloads.", "Refused, with both digests."),
    Row("S9", "A retry after a time-out sends twice.", "Asked first, then decided."),
    Row("S10", "An old worker overwrites a newer result.", "Refused and kept."),
    Row("S11", "A key that was cleaned up is used again.", "Never."),
    Row("S12", "Sent to an address that has changed.", "Approved anew before that."),
    Row("S13", "How a draft came about is lost.", "It is replayed without a call."),
)
