//! Deadlock check for runs that wait for other runs.
//!
//! A command of a run may start another run and wait for its end. The waiting run keeps its permit and its lane, so the
//! awaited run, or a run in front, might need exactly that permit or lane. The check ends every run that can end, frees
//! lane and permit, and repeats. A run that is left over would wait for itself.

use std::collections::{HashMap, HashSet};

use rouse_core::RunId;

use super::lanes::LaneKey;
use super::permits::{PermitKind, Permits};

/// A run that has not ended.
#[derive(Debug)]
pub(crate) struct WaitNode {
    pub(crate) id: RunId,
    pub(crate) lane: LaneKey,
    pub(crate) permit: PermitKind,
    /// Whether the run counts as active in its lane. Others wait for that, in the order of the graph's nodes.
    pub(crate) holds_lane: bool,
    pub(crate) holds_permit: bool,
    /// The awaited runs. Runs without a node have ended.
    pub(crate) awaits: Vec<RunId>,
}

/// All runs that have not ended, with the free permits and lanes.
#[derive(Debug)]
pub(crate) struct WaitGraph {
    pub(crate) nodes: Vec<WaitNode>,
    pub(crate) permits: Permits,
    /// How many more runs each lane may have active.
    pub(crate) lane_room: HashMap<LaneKey, usize>,
}

impl WaitGraph {
    /// Whether the run can end, as all runs wait now.
    pub(crate) fn can_end(mut self, id: &RunId) -> bool {
        while self.nodes.iter().any(|node| node.id == *id) {
            if !self.end_runs() {
                return false;
            }
        }
        true
    }

    /// Ends the runs that can; false when there is none.
    fn end_runs(&mut self) -> bool {
        let open: HashSet<RunId> = self.nodes.iter().map(|node| node.id.clone()).collect();
        let mut blocked: HashSet<LaneKey> = HashSet::new();
        let Self { nodes, permits, lane_room } = self;
        nodes.retain(|node| {
            let has_lane = node.holds_lane
                || !blocked.contains(&node.lane) && lane_room.get(&node.lane) != Some(&0);
            let has_permit = node.holds_permit || permits.has_free(node.permit);
            if !has_lane || !has_permit || node.awaits.iter().any(|id| open.contains(id)) {
                if !node.holds_lane {
                    blocked.insert(node.lane.clone());
                }
                return true;
            }
            if node.holds_lane {
                *lane_room.entry(node.lane.clone()).or_default() += 1;
            }
            if node.holds_permit {
                permits.release(node.permit);
            }
            false
        });
        nodes.len() < open.len()
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::JobId;

    use super::*;

    fn lane(name: &str) -> LaneKey {
        LaneKey::Job(JobId::new(name))
    }

    fn active(name: &str, permit: PermitKind, awaits: &[&str]) -> WaitNode {
        WaitNode { holds_lane: true, holds_permit: true, ..queued(name, permit, awaits) }
    }

    fn queued(name: &str, permit: PermitKind, awaits: &[&str]) -> WaitNode {
        WaitNode {
            id: RunId::new(name),
            lane: lane(name),
            permit,
            holds_lane: false,
            holds_permit: false,
            awaits: awaits.iter().map(|id| RunId::new(*id)).collect(),
        }
    }

    fn graph(limit: usize, nodes: Vec<WaitNode>) -> WaitGraph {
        let mut permits = Permits::new(limit);
        let holders = nodes.iter().filter(|node| node.holds_permit);
        holders.for_each(|node| permits.acquire(node.permit));
        let taken = nodes.iter().filter(|node| node.holds_lane);
        let lane_room = taken.map(|node| (node.lane.clone(), 0)).collect();
        WaitGraph { nodes, permits, lane_room }
    }

    const MANUAL: PermitKind = PermitKind::Manual;

    #[test]
    fn manual_chain_beyond_the_limit_is_a_deadlock() {
        let chain =
            |limit| graph(limit, vec![active("a", MANUAL, &["b"]), queued("b", MANUAL, &[])]);
        assert!(chain(2).can_end(&RunId::new("a")));
        assert!(!chain(1).can_end(&RunId::new("a")));
    }

    #[test]
    fn two_chains_that_share_the_limit_are_a_deadlock() {
        let nodes = |awaits| {
            vec![
                active("a", MANUAL, &["b"]),
                active("c", MANUAL, awaits),
                queued("b", MANUAL, &[]),
                queued("d", MANUAL, &[]),
            ]
        };
        assert!(graph(2, nodes(&[])).can_end(&RunId::new("a")), "b starts after c");
        assert!(!graph(2, nodes(&["d"])).can_end(&RunId::new("c")));
    }

    #[test]
    fn manual_and_scheduled_permits_are_apart() {
        let nodes = vec![active("a", PermitKind::OnTime, &["b"]), queued("b", MANUAL, &[])];
        assert!(graph(1, nodes).can_end(&RunId::new("a")));
    }

    #[test]
    fn deadlock_across_both_limits_is_found() {
        let nodes = vec![
            active("scheduled", PermitKind::OnTime, &["manual 2"]),
            active("manual", MANUAL, &["scheduled 2"]),
            queued("manual 2", MANUAL, &[]),
            queued("scheduled 2", PermitKind::OnTime, &[]),
        ];
        assert!(!graph(1, nodes).can_end(&RunId::new("manual")));
    }

    #[test]
    fn run_behind_a_blocked_run_of_its_lane_is_blocked() {
        let behind = WaitNode { lane: lane("b"), ..queued("d", PermitKind::OnTime, &[]) };
        let nodes = vec![active("a", MANUAL, &["d"]), queued("b", MANUAL, &[]), behind];
        assert!(!graph(1, nodes).can_end(&RunId::new("a")));
    }

    #[test]
    fn run_that_awaits_a_later_run_of_its_own_lane_is_a_deadlock() {
        let own = WaitNode { lane: lane("a"), ..queued("b", MANUAL, &[]) };
        let nodes = vec![active("a", MANUAL, &["b"]), own];
        assert!(!graph(9, nodes).can_end(&RunId::new("a")));
    }

    #[test]
    fn run_that_awaits_an_ended_run_can_end() {
        assert!(graph(1, vec![active("a", MANUAL, &["gone"])]).can_end(&RunId::new("a")));
    }
}
