//! Structs: construction and field access.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::DataType;
use folio_compute::function::Call;
use folio_compute::{Error, Result, array};
use folio_types::ColumnType;

use super::{Body, Function};

impl Function {
    /// Access to the n-th field of a struct.
    pub fn field(ty: ColumnType, index: usize, returns: ColumnType) -> Self {
        Self::of_struct("field", vec![ty], returns, Body::Field(index))
    }

    /// Construction of a struct from its arguments.
    pub fn row(fields: Vec<(String, ColumnType)>) -> Self {
        let parameters = fields.iter().map(|(_, ty)| ty.clone()).collect();
        Self::of_struct("row", parameters, ColumnType::Struct(fields), Body::Row)
    }

    fn of_struct(
        name: &'static str,
        parameters: Vec<ColumnType>,
        returns: ColumnType,
        body: Body,
    ) -> Self {
        let (is_volatile, is_stable) = (false, false);
        Self { name: name.into(), parameters, returns, body, is_volatile, is_stable }
    }
}

pub(super) fn field(call: &Call<'_>, index: usize) -> Result<ArrayRef> {
    array::member_of(call.arrays[0].as_struct(), index)
}

pub(super) fn row(call: &Call<'_>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = call.returns.to_arrow() else {
        return Err(Error::unsupported("a row is a struct"));
    };
    Ok(Arc::new(StructArray::try_new(fields, call.arrays.to_vec(), None)?))
}
