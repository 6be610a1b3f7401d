//! Reads messages of Protobuf, and no question that has a field of which this service knows nothing.
//!
//! A reader of Protobuf skips such fields. A newer Envoy might then ask for one thing and be charged for another, as
//! if hits that it gives back were taken.

use std::marker::PhantomData;

use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

use super::protocol::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};

/// The codec of both messages.
#[derive(Debug)]
pub(super) struct KnownFields<T, U>(PhantomData<(T, U)>);

/// Reads one message.
#[derive(Debug)]
pub(super) struct KnownFieldsDecoder<U>(PhantomData<U>);

/// The fields of a message, by their numbers.
#[derive(Debug)]
pub(super) struct Fields(&'static [(u32, &'static str, Option<&'static Fields>)]);

/// A message of which the fields that are known are known.
pub(super) trait Known: Message + Default + Send + 'static {
    /// Its fields; `None` if others do no harm.
    const FIELDS: Option<&'static Fields>;
}

impl Known for RateLimitRequest {
    const FIELDS: Option<&'static Fields> = Some(&Fields(&[
        (1, "domain", None),
        (2, "descriptors", Some(&DESCRIPTOR)),
        (3, "hits_addend", None),
    ]));
}

impl Known for RateLimitResponse {
    const FIELDS: Option<&'static Fields> = None;
}

const DESCRIPTOR: Fields = Fields(&[
    (1, "entries", Some(&ENTRY)),
    (2, "limit", Some(&LIMIT)),
    (3, "hits_addend", None),
    (4, "is_negative_hits", None),
]);
const ENTRY: Fields = Fields(&[(1, "key", None), (2, "value", None)]);
const LIMIT: Fields = Fields(&[(1, "requests_per_unit", None), (2, "unit", None)]);

impl<T, U> Default for KnownFields<T, U> {
    fn default() -> Self {
        KnownFields(PhantomData)
    }
}

impl<T: Message + Send + 'static, U: Known> Codec for KnownFields<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = KnownFieldsDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> KnownFieldsDecoder<U> {
        KnownFieldsDecoder(PhantomData)
    }
}

impl<U: Known> Decoder for KnownFieldsDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let message = buffer.copy_to_bytes(buffer.remaining());
        if let Some(fields) = U::FIELDS {
            fields.check(&mut &message[..], "")?;
        }
        U::decode(message).map(Some).map_err(unreadable)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn unreadable(error: prost::DecodeError) -> Status {
    Status::internal(error.to_string())
}

impl Fields {
    /// Makes sure that a message has no other fields than these. `place` is that of the message.
    fn check(&self, message: &mut &[u8], place: &str) -> Result<(), Status> {
        while message.has_remaining() {
            let (tag, wire) = decode_key(message).map_err(unreadable)?;
            let known = self.0.iter().find(|(own, ..)| *own == tag);
            let Some((_, name, within)) = known else {
                let what = format!(
                    "the question has a field that this service does not know, number {tag} of `{}`: nothing was counted",
                    if place.is_empty() { "RateLimitRequest" } else { place }
                );
                return Err(Status::unimplemented(what));
            };
            let Some(fields) = within.filter(|_| wire == WireType::LengthDelimited) else {
                skip_field(wire, tag, message, DecodeContext::default()).map_err(unreadable)?;
                continue;
            };
            let length = decode_varint(message).map_err(unreadable)?;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let Some((mut inner, rest)) = message.split_at_checked(length) else {
                return Err(Status::internal("the question ends before its last field does"));
            };
            fields.check(&mut inner, name)?;
            *message = rest;
        }
        Ok(())
    }
}
