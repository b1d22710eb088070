//! The creation of columns says how far it is, and can be cancelled; nothing is left of it then.

use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use folio::ErrorCode;

use super::World;

#[test]
fn creation_says_how_far_it_is() {
    let mut world = World::new(2);
    let seen: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let log = Arc::clone(&seen);
    let push = move |done, total| log.lock().unwrap().push((done, total));
    world.session.set_progress(Some(Arc::new(push)));
    world.session.execute("create index p on plain using columns", &[]).unwrap();
    let seen = seen.lock().unwrap();
    let total = seen[0].1;
    assert!(seen.len() > 5 && total > 1 << 20, "{seen:?}");
    assert!(seen.iter().all(|(done, all)| done <= all && *all == total), "{seen:?}");
    assert!(seen.iter().any(|(done, _)| *done == total), "{seen:?}");
    assert!(seen.iter().any(|(done, _)| *done < total / 2), "{seen:?}");
}

#[test]
fn a_creation_that_is_cancelled_leaves_nothing() {
    let mut world = World::new(2);
    for text in ["create index p on plain using columns", "begin"] {
        if text == "begin" {
            world.session.execute(text, &[]).unwrap();
        }
        let interrupt = world.session.interrupt();
        let cancel = move |done, total| interrupt.store(done > total / 3, Ordering::Relaxed);
        world.session.set_progress(Some(Arc::new(cancel)));
        let create = "create index p on plain using columns";
        let Err(error) = world.session.execute(create, &[]) else { panic!("it is not cancelled") };
        assert_eq!(error.code(), ErrorCode::Cancelled, "{error}");
        world.session.interrupt().store(false, Ordering::Relaxed);
        let left = fs::read_dir(world.folder().with_file_name("p")).into_iter().flatten();
        assert_eq!(left.count(), 0);
        let plan = world.rows("explain select sum(n) from plain");
        assert!(!plan.contains("columns"), "{plan}");
    }
    world.session.execute("rollback", &[]).unwrap();
    world.session.set_progress(None);
    world.session.execute("create index p on plain using columns", &[]).unwrap();
    let plan = world.rows("explain select sum(n) from plain");
    assert!(plan.contains("from columns p"), "{plan}");
}
