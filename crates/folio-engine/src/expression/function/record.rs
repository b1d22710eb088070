//! Structs: construction and field access.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StructArray};
use arrow_schema::DataType;
use folio_types::ColumnType;

use super::{Body, Call, Function, Kernel};
use crate::error::{Error, Result};

impl Function {
    /// Access to the n-th field of a struct.
    pub fn field(ty: ColumnType, index: usize, returns: ColumnType) -> Self {
        Self { member: Some(index), ..Self::whole("field", vec![ty], returns, field) }
    }

    /// Construction of a struct from its arguments.
    pub fn row(fields: Vec<(String, ColumnType)>) -> Self {
        let parameters = fields.iter().map(|(_, ty)| ty.clone()).collect();
        Self::whole("row", parameters, ColumnType::Struct(fields), row)
    }

    fn whole(
        name: &'static str,
        parameters: Vec<ColumnType>,
        returns: ColumnType,
        kernel: Kernel,
    ) -> Self {
        Self {
            name: name.into(),
            parameters,
            returns,
            kernel,
            body: Body::Whole(kernel),
            member: None,
            is_volatile: false,
            is_stable: false,
        }
    }
}

fn field(call: &Call<'_>) -> Result<ArrayRef> {
    member_of(call.arrays[0].as_struct(), call.function.member.unwrap_or_default())
}

/// The values of the n-th field.
///
/// # Errors
/// None for a field of the struct.
pub(in crate::expression) fn member_of(row: &StructArray, index: usize) -> Result<ArrayRef> {
    let column = row.column(index);
    // A field of a null struct is null, whatever its slot holds.
    match row.nulls() {
        None => Ok(ArrayRef::clone(column)),
        Some(nulls) => {
            let missing = BooleanArray::new(!nulls.inner(), None);
            Ok(arrow_select::nullif::nullif(column, &missing)?)
        }
    }
}

fn row(call: &Call<'_>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = call.function.returns.to_arrow() else {
        return Err(Error::unsupported("a row is a struct"));
    };
    Ok(Arc::new(StructArray::try_new(fields, call.arrays.to_vec(), None)?))
}
