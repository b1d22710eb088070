//! Traversal of expressions: their parts, and the columns they read.

use super::{Column, ColumnId, Expr};

/// Passes every direct part of an expression to `$visit`; `$iter` is `iter` or `iter_mut`.
macro_rules! visit_parts {
    ($expr:expr, $visit:ident, $iter:ident) => {
        match $expr {
            Self::Column(_) | Self::Outer(..) | Self::Literal { .. } | Self::Parameter { .. } => {}
            Self::Cast { input, .. }
            | Self::Not(input)
            | Self::IsNull(input)
            | Self::IsTrue(input)
            | Self::InSet { input, .. } => $visit(input),
            Self::Arithmetic { left, right, .. } | Self::Compare { left, right, .. } => {
                $visit(left);
                $visit(right);
            }
            Self::And(terms) | Self::Or(terms) | Self::Coalesce(terms, _) => {
                terms.$iter().for_each($visit);
            }
            Self::Case { branches, otherwise, .. } => {
                for (condition, result) in branches {
                    $visit(condition);
                    $visit(result);
                }
                otherwise.$iter().for_each(|otherwise| $visit(otherwise));
            }
            Self::InList { input, list } => {
                $visit(input);
                list.$iter().for_each($visit);
            }
            Self::Match { input, pattern, .. } => {
                $visit(input);
                $visit(pattern);
            }
            Self::Function { arguments, .. } => arguments.$iter().for_each($visit),
            Self::Subquery(subquery) => {
                subquery.operand.$iter().for_each(&mut *$visit);
                subquery.outer.$iter().for_each($visit);
            }
        }
    };
}

impl Expr {
    /// Calls `visit` with every direct part.
    pub(crate) fn for_each_part<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit_parts!(self, visit, iter);
    }

    /// Calls `change` with every direct part.
    pub fn for_each_part_mut(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        visit_parts!(self, change, iter_mut);
    }

    /// Changes every node, children before parents.
    pub fn transform(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        self.for_each_part_mut(&mut |part| part.transform(change));
        change(self);
    }

    /// Whether any node passes a test.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_part(&mut |part| found = found || part.any(test));
        found
    }

    /// Appends the columns it reads, including those that its subqueries read.
    pub fn collect_columns(&self, out: &mut Vec<ColumnId>) {
        if let Self::Column(column) = self
            && !out.contains(&column.id)
        {
            out.push(column.id);
        }
        self.for_each_part(&mut |part| part.collect_columns(out));
    }

    /// The columns it reads.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns
    }

    /// Whether it reads no other columns than these.
    pub(crate) fn reads_only(&self, columns: &[ColumnId]) -> bool {
        !self.any(&mut |part| matches!(part, Self::Column(column) if !columns.contains(&column.id)))
    }

    /// Whether it contains a subquery.
    pub fn has_subquery(&self) -> bool {
        self.any(&mut |part| matches!(part, Self::Subquery(_)))
    }

    /// Whether it may fail for some rows and not for others, as far as its kind tells, or do something
    /// beside its result.
    pub(crate) fn may_fail(&self) -> bool {
        self.any(&mut |part| match part {
            Self::Cast { is_try, .. } => !is_try,
            Self::Match { pattern, .. } => !matches!(**pattern, Self::Literal { .. }),
            Self::Arithmetic { .. } | Self::Function { .. } | Self::Subquery(_) => true,
            _ => false,
        })
    }

    /// Whether it calls a function that must run on the thread that asks for rows.
    pub(crate) fn is_of_one_thread(&self) -> bool {
        self.any(&mut |part| {
            matches!(part, Self::Function { function, .. } if function.is_of_one_thread())
        })
    }

    /// Replaces columns by expressions.
    pub fn replace_columns(&mut self, replace: &dyn Fn(ColumnId) -> Option<Expr>) {
        if let Self::Column(column) = self {
            if let Some(expression) = replace(column.id) {
                *self = expression;
            }
            return;
        }
        self.for_each_part_mut(&mut |part| part.replace_columns(replace));
        if let Self::Subquery(subquery) = self {
            subquery.body.replace_columns(replace);
        }
    }

    /// Replaces the columns that a projection makes by what it makes them of.
    pub(crate) fn replace_outputs(&mut self, outputs: &[(Column, Expr)]) {
        self.replace_columns(&|id| {
            let output = outputs.iter().find(|(own, _)| own.id == id);
            output.map(|(_, output)| output.clone())
        });
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Column(left), Self::Column(right)) => left.id == right.id,
            (Self::Outer(left, _), Self::Outer(right, _)) => left == right,
            (
                Self::Literal { value: left, ty: left_type, .. },
                Self::Literal { value: right, ty: right_type, .. },
            ) => left == right && left_type == right_type,
            (Self::Parameter { index: left, .. }, Self::Parameter { index: right, .. }) => {
                left == right
            }
            (Self::Subquery(left), Self::Subquery(right)) => left.number == right.number,
            _ => {
                self.same_node(other) && {
                    let (mut left, mut right) = (Vec::new(), Vec::new());
                    self.for_each_part(&mut |part| left.push(part));
                    other.for_each_part(&mut |part| right.push(part));
                    left == right
                }
            }
        }
    }
}

impl Expr {
    /// Whether two nodes are equal except for their children.
    fn same_node(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Cast { to: left, is_try: left_try, .. },
                Self::Cast { to: right, is_try: right_try, .. },
            ) => left == right && left_try == right_try,
            (Self::Arithmetic { op: left, .. }, Self::Arithmetic { op: right, .. }) => {
                left == right
            }
            (Self::Compare { op: left, .. }, Self::Compare { op: right, .. }) => left == right,
            (Self::InSet { set: left, .. }, Self::InSet { set: right, .. }) => left == right,
            (
                Self::Case { branches: left, otherwise: left_else, .. },
                Self::Case { branches: right, otherwise: right_else, .. },
            ) => left.len() == right.len() && left_else.is_some() == right_else.is_some(),
            (
                Self::Match { kind: left, escape: left_escape, .. },
                Self::Match { kind: right, escape: right_escape, .. },
            ) => left == right && left_escape == right_escape,
            (Self::Function { function: left, .. }, Self::Function { function: right, .. }) => {
                left == right && !left.is_volatile
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}
