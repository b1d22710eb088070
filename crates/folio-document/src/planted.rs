//! Planted bugs.
/// A bug.
#[derive(Debug, Clone, Copy)]
pub enum PlantedBug {}
