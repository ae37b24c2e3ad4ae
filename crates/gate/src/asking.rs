//! What waits for a person waits here, and nothing else does: the gate's other connections go on.

use crate::context::Context;
use bailiwick_event::{Act, Decision, Verdict};
use bailiwick_guard::Submitted;
use tokio::sync::oneshot;

/// Decides about an act at a boundary that can wait.
pub(crate) async fn submit(context: &Context, act: &Act) -> Decision {
    let submitted = context.decider.submit_asking(act.clone());
    match submitted.decision.verdict {
        Verdict::Ask => ask(context, act, &submitted).await,
        _ => submitted.decision,
    }
}

/// What the person says who is asked about an act.
pub(crate) async fn ask(context: &Context, act: &Act, asked: &Submitted) -> Decision {
    let (tell, told) = oneshot::channel();
    let tell = Box::new(move |decision| drop(tell.send(decision)));
    context.decider.ask(act, asked, tell);
    // Whoever is asked tells something, in the time that there is; if not, the answer is no.
    told.await.unwrap_or_else(|_| Decision {
        verdict: Verdict::Deny,
        ..asked.decision.clone()
    })
}
