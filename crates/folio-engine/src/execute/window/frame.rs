//! The frame of a row: the rows it sees.

use folio_compute::array::value_at;
use folio_compute::{Error, Result};
use folio_types::{Interval, Value, temporal};

use super::Ordered;
use crate::context::Context;
use crate::expression::evaluate::{constant, evaluate_array};
use crate::plan::window::{Exclusion, FrameBound, FrameUnits, WindowCall};

/// The most ranges that a frame consists of.
pub(super) const PARTS: usize = 3;

/// The positions a row sees: several ranges, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen([(usize, usize); PARTS]);

impl Seen {
    /// The frame after an exclusion. `peers` are the rows equal to the current one.
    fn new(
        (start, end): (usize, usize),
        exclusion: Exclusion,
        place: usize,
        peers: (usize, usize),
    ) -> Self {
        // Before the excluded range, the current row within it, after it.
        let (out, kept) = match exclusion {
            Exclusion::Nothing => ((end, end), (end, end)),
            Exclusion::CurrentRow => ((place, place + 1), (end, end)),
            Exclusion::Group => (peers, (end, end)),
            Exclusion::Ties => (peers, (place, place + 1)),
        };
        let within = |from: usize, to: usize| {
            let (from, to) = (from.max(start), to.min(end));
            (from, to.max(from))
        };
        Self([within(start, out.0), within(kept.0, kept.1), within(out.1, end)])
    }

    /// The ranges that are not empty.
    pub(super) fn ranges(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        self.0.into_iter().filter(|(from, to)| from < to)
    }

    /// One of the ranges, which may be empty.
    pub(super) fn part(&self, part: usize) -> (usize, usize) {
        self.0[part]
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        self.ranges().map(|(from, to)| to - from).sum()
    }

    /// What it sees after all that another sees, if that is all it sees besides.
    pub(super) fn beyond(&self, other: &Self) -> Option<Self> {
        let (mut own, mut others) = (self.ranges(), other.ranges());
        match (own.next(), own.next(), others.next(), others.next()) {
            (Some((start, end)), None, Some((from, to)), None) if from == start && to <= end => {
                Some(Self([(to, end), (end, end), (end, end)]))
            }
            _ => None,
        }
    }

    /// The n-th position, from 0.
    pub(super) fn nth(&self, n: usize) -> Option<usize> {
        let mut left = n;
        self.ranges().find_map(|(from, to)| {
            let found = (left < to - from).then(|| from + left);
            left = left.saturating_sub(to - from);
            found
        })
    }

    /// The last position.
    pub(super) fn last(&self) -> Option<usize> {
        self.ranges().next_back().map(|(_, to)| to - 1)
    }
}

/// The frame of each position.
pub(super) fn frames(
    call: &WindowCall,
    ordered: &Ordered,
    partitions: &[usize],
    context: &Context,
) -> Result<Vec<Seen>> {
    let order = match (&call.frame.units, call.order.first()) {
        (FrameUnits::Range, Some(key)) => Order::Range(RangeKey::new(key, ordered, context)?),
        (FrameUnits::Groups, _) => Order::Groups(PeerGroups::new(&ordered.peers)),
        _ => Order::Rows,
    };
    let start = Steps::of(&call.frame.start, context)?;
    let end = Steps::of(&call.frame.end, context)?;
    let mut frames = Vec::with_capacity(ordered.peers.len());
    for bounds in partitions.windows(2) {
        let partition = (bounds[0], bounds[1]);
        for place in bounds[0]..bounds[1] {
            let (units, peers) = (call.frame.units, ordered.peers[place]);
            let from = start.place(units, place, peers, partition, true, &order);
            let to = end.place(units, place, peers, partition, false, &order);
            let frame = (from.min(to.max(bounds[0])), to.max(from.min(to.max(bounds[0]))));
            frames.push(Seen::new(frame, call.frame.exclusion, place, peers));
        }
    }
    Ok(frames)
}

/// What distances are counted in.
enum Order {
    Rows,
    Groups(PeerGroups),
    Range(RangeKey),
}

/// The groups of peers.
struct PeerGroups {
    all: Vec<(usize, usize)>,
    /// The number of the group of each position.
    numbers: Vec<usize>,
}

impl PeerGroups {
    fn new(peers: &[(usize, usize)]) -> Self {
        let (mut all, mut numbers) = (Vec::new(), Vec::with_capacity(peers.len()));
        for group in peers {
            if all.last() != Some(group) {
                all.push(*group);
            }
            numbers.push(all.len() - 1);
        }
        Self { all, numbers }
    }

    /// The group at a distance from that of a position. Beyond the partition it is empty.
    fn away_from(&self, place: usize, steps: i64, (first, last): (usize, usize)) -> (usize, usize) {
        let number = (self.numbers[place] as i64).saturating_add(steps);
        if number < self.numbers[first] as i64 {
            (first, first)
        } else if number > self.numbers[last - 1] as i64 {
            (last, last)
        } else {
            self.all[number as usize]
        }
    }
}

/// A bound with its distance computed.
enum Steps {
    Unbounded,
    Current,
    /// Rows, groups or distance; negative for preceding.
    By(f64),
    /// A distance on the calendar, and whether it is preceding: months differ in length.
    Span(Interval, bool),
}

impl Steps {
    #[allow(clippy::cast_precision_loss, reason = "frames are not that long")]
    fn of(bound: &FrameBound, context: &Context) -> Result<Self> {
        let (distance, sign) = match bound {
            FrameBound::Unbounded => return Ok(Self::Unbounded),
            FrameBound::Current => return Ok(Self::Current),
            FrameBound::Preceding(distance) => (distance, -1.0),
            FrameBound::Following(distance) => (distance, 1.0),
        };
        let value = constant(distance, context)?;
        let number = match &value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            Value::Decimal(_) => {
                let text = folio_compute::cast::format(&value, &distance.ty());
                text.parse().unwrap_or(-1.0)
            }
            Value::Interval(interval) => {
                let days = f64::from(interval.months) * 30.0 + f64::from(interval.days);
                days * 86_400e6 + interval.nanoseconds as f64 / 1000.0
            }
            _ => -1.0,
        };
        if number < 0.0 {
            return Err(Error::invalid("a frame's distance must not be null or negative"));
        }
        Ok(match value {
            Value::Interval(interval) => Self::Span(interval, sign < 0.0),
            _ => Self::By(sign * number),
        })
    }

    /// The key at this distance from another.
    #[allow(clippy::cast_possible_truncation, reason = "only times have distances on the calendar")]
    #[allow(clippy::cast_precision_loss, reason = "distances of keys")]
    fn away_from(&self, key: f64, descending: bool) -> f64 {
        match self {
            Self::Unbounded | Self::Current => key,
            Self::By(steps) if descending => key - steps,
            Self::By(steps) => key + steps,
            Self::Span(interval, is_preceding) => {
                let is_back = *is_preceding != descending;
                let span = if is_back { temporal::negate(*interval) } else { Some(*interval) };
                let end = span.and_then(|span| temporal::add(key as i64, span));
                let beyond = if is_back { f64::NEG_INFINITY } else { f64::INFINITY };
                end.map_or(beyond, |end| end as f64)
            }
        }
    }

    /// The start or end of the frame of a position.
    #[allow(clippy::cast_possible_truncation, reason = "clamped to the partition")]
    fn place(
        &self,
        units: FrameUnits,
        place: usize,
        peers: (usize, usize),
        (first, last): (usize, usize),
        is_start: bool,
        order: &Order,
    ) -> usize {
        let end = |(start, end): (usize, usize)| if is_start { start } else { end };
        match (self, units) {
            (Self::Unbounded, _) => end((first, last)),
            (Self::Current, FrameUnits::Rows) => place + usize::from(!is_start),
            (Self::Current, _) => end(peers),
            (Self::By(steps), FrameUnits::Rows) => {
                let target = place as i64 + *steps as i64 + i64::from(!is_start);
                target.clamp(first as i64, last as i64) as usize
            }
            (steps, _) => match (steps, order) {
                (Self::By(steps), Order::Groups(groups)) => {
                    end(groups.away_from(place, *steps as i64, (first, last)))
                }
                (_, Order::Range(key)) => key.place(place, steps, (first, last), is_start, peers),
                _ => end((first, last)),
            },
        }
    }
}

/// The first sort key as numbers.
struct RangeKey {
    /// Null at one end of each partition, otherwise in order.
    values: Vec<Option<f64>>,
    descending: bool,
    nulls_first: bool,
}

impl RangeKey {
    #[allow(clippy::cast_precision_loss, reason = "distances of keys")]
    fn new(
        key: &crate::plan::terms::SortKey,
        ordered: &Ordered,
        context: &Context,
    ) -> Result<Self> {
        let ty = key.expression.ty();
        let array = evaluate_array(&key.expression, &ordered.rows, context)?;
        let values = (0..ordered.rows.row_count).map(|row| match value_at(&array, row, &ty) {
            Value::Integer(value) | Value::Timestamp(value) | Value::Time(value) => {
                Some(value as f64)
            }
            Value::Float(value) => Some(value),
            value @ Value::Decimal(_) => folio_compute::cast::format(&value, &ty).parse().ok(),
            Value::Date(day) => Some(f64::from(day) * 86_400e6),
            _ => None,
        });
        Ok(Self {
            values: values.collect(),
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    }

    /// The start or end of the frame at a distance. That of a null row are its peers, the other
    /// null rows. Every other row is at no distance from a null row: nulls before the values are
    /// before the bound, nulls after them are after it.
    fn place(
        &self,
        place: usize,
        steps: &Steps,
        (first, last): (usize, usize),
        is_start: bool,
        peers: (usize, usize),
    ) -> usize {
        let Some(own) = self.values[place] else {
            return if is_start { peers.0 } else { peers.1 };
        };
        let limit = steps.away_from(own, self.descending);
        let is_before = |value: &Option<f64>| {
            let Some(value) = value else { return self.nulls_first };
            // NaN is the largest number.
            let order = value.partial_cmp(&limit);
            let order = order.unwrap_or_else(|| value.is_nan().cmp(&limit.is_nan()));
            let order = if self.descending { order.reverse() } else { order };
            if is_start { order.is_lt() } else { order.is_le() }
        };
        first + self.values[first..last].partition_point(is_before)
    }
}
