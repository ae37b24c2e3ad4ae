//! In words: which limits of a run the kernel keeps for all its processes together, and which are
//! only watched. A limit is never called exact that is not.

use crate::cgroup;
use crate::limits::Bounds;

/// The layer as the record names it; none where the policy has no such limit.
pub(crate) fn layer(
    bounds: &Bounds,
    isolated: bool,
    contained: Option<&Result<(), String>>,
) -> Option<String> {
    let contained = contained?;
    let Bounds { exact, .. } = bounds;
    let exactly = list(&[
        (exact.memory, "memory"),
        (exact.processes, "processes"),
        (exact.cpu, "cpu"),
    ]);
    let watched = list(&[
        (
            isolated && bounds.memory.is_some() && !exact.memory,
            "memory",
        ),
        (bounds.cpu.is_some() && !exact.cpu, "whole cpus"),
    ]);
    let reason = contained.as_ref().err();
    let parts = [
        (!exactly.is_empty()).then(|| format!("exact: {}", exactly.join(" "))),
        (!watched.is_empty()).then(|| format!("not exact: {}", watched.join(" "))),
        reason.map(|reason| format!("no control group: {reason}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(format!("limits ({})", parts.join("; ")))
}

/// What the user is told about limits that nothing keeps where there are no namespaces.
pub(crate) fn without_namespaces(bounds: &Bounds) -> Option<String> {
    let exact = bounds.exact;
    let lost = list(&[
        (bounds.processes.is_some() && !exact.processes, "processes"),
        (
            bounds.memory.is_some() && !exact.memory,
            "memory as a whole",
        ),
    ]);
    (!lost.is_empty()).then(|| {
        format!(
            "no namespaces and no control group: limits on {} are not kept",
            lost.join(" and on ")
        )
    })
}

/// Why limits are not exact here, what that means, and the remedy; none where they are.
pub(crate) fn problem() -> Option<String> {
    let reason = cgroup::available().err()?;
    let remedy = match reason.starts_with("systemd does not delegate") {
        true => "`sudo bailiwick setup delegate`, and log in again".to_owned(),
        false => cgroup::remedy(&reason),
    };
    Some(format!(
        "{reason}\n  without it `memory` is looked at every 20 ms and `cpu` is whole CPUs\n  \
         remedy: {remedy}"
    ))
}

fn list(of: &[(bool, &'static str)]) -> Vec<&'static str> {
    let named = of.iter().filter(|(is, _)| *is);
    named.map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Exact;

    #[test]
    fn the_record_says_which_limits_are_exact() {
        let mut bounds = Bounds {
            memory: Some(1),
            processes: Some(1),
            cpu: Some(1500),
            ..Bounds::default()
        };
        let none = Err("nobody gives one".to_owned());
        assert_eq!(layer(&bounds, true, None), None);
        assert_eq!(
            layer(&bounds, true, Some(&none)).unwrap(),
            "limits (not exact: memory whole cpus; no control group: nobody gives one)"
        );
        bounds.exact = Exact {
            memory: true,
            processes: true,
            cpu: false,
        };
        assert_eq!(
            layer(&bounds, true, Some(&Ok(()))).unwrap(),
            "limits (exact: memory processes; not exact: whole cpus)"
        );
        assert_eq!(without_namespaces(&bounds), None);
        bounds.exact = Exact::default();
        let told = without_namespaces(&bounds).unwrap();
        assert!(told.contains("on processes and on memory"), "{told}");
    }
}
