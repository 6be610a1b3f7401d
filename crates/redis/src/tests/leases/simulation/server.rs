//! A server that runs the scripts in a Lua of the same version as Redis has, on a clock that is set by hand.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use mlua::{Function, Lua, Table, Value, Variadic};

use crate::script::Script;

/// The data of a server: what a replica has a copy of.
#[derive(Clone, Debug, Default)]
struct Data(HashMap<String, Entry>);

#[derive(Clone, Debug)]
struct Entry {
    value: Stored,
    expires_millis: Option<u64>,
}

#[derive(Clone, Debug)]
enum Stored {
    Text(String),
    Hash(HashMap<String, String>),
    /// Members by their score. Of one score, in the order of their text.
    Sorted(BTreeSet<(u64, String)>),
}

#[derive(Debug, Default)]
struct State {
    data: Data,
    micros: u64,
}

/// A server, and a replica that is some writes behind.
pub(super) struct Server {
    lua: Lua,
    state: Rc<RefCell<State>>,
    scripts: HashMap<&'static str, Function>,
    replica: Data,
}

impl Server {
    pub(super) fn new(micros: u64) -> Server {
        let (lua, state) = (Lua::new(), Rc::new(RefCell::new(State::default())));
        state.borrow_mut().micros = micros;
        let of_call = Rc::clone(&state);
        let call = lua
            .create_function(move |lua, arguments: Variadic<Value>| {
                let words: Vec<_> = arguments.iter().map(word).collect();
                of_call.borrow_mut().call(lua, &words)
            })
            .unwrap();
        let redis = lua.create_table().unwrap();
        redis.set("call", call).unwrap();
        lua.globals().set("redis", redis).unwrap();
        lua.globals().set("cmsgpack", message_pack(&lua).unwrap()).unwrap();
        Server { lua, state, scripts: HashMap::new(), replica: Data::default() }
    }

    pub(super) fn set_clock(&self, micros: u64) {
        self.state.borrow_mut().micros = micros;
    }

    /// Runs a script, and returns its answer.
    pub(super) fn run(
        &mut self,
        script: &'static Script,
        keys: &[String],
        arguments: &[Vec<u8>],
    ) -> Vec<i64> {
        let lua = &self.lua;
        let run = self.scripts.entry(script.name()).or_insert_with(|| {
            lua.load(script.source()).set_name(script.name()).into_function().unwrap()
        });
        lua.globals().set("KEYS", keys).unwrap();
        let arguments = arguments.iter().map(|argument| lua.create_string(argument).unwrap());
        lua.globals().set("ARGV", lua.create_sequence_from(arguments).unwrap()).unwrap();
        let reply: Vec<f64> = run.call(()).unwrap();
        reply.into_iter().map(|number| number as i64).collect()
    }

    /// Brings the replica up to date.
    pub(super) fn replicate(&mut self) {
        self.replica = self.state.borrow().data.clone();
    }

    /// Makes the replica the server.
    pub(super) fn fail_over(&mut self) {
        self.state.borrow_mut().data = self.replica.clone();
    }
}

/// Returns an argument of a call: with a sign for each byte, of which some are no text.
fn word(argument: &Value) -> String {
    match argument {
        Value::String(text) => text.as_bytes().iter().map(|&byte| char::from(byte)).collect(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => format!("{number:.0}"),
        other => panic!("{other:?} is no argument of a call"),
    }
}

/// Returns the functions by which scripts keep integers in `MessagePack`.
fn message_pack(lua: &Lua) -> mlua::Result<Table> {
    let pack = lua.create_function(|lua, numbers: Variadic<f64>| {
        let mut packed = Vec::new();
        for &number in numbers.iter() {
            assert!(number.fract().abs() <= 0.0, "{number} is no integer");
            rmp::encode::write_sint(&mut packed, number as i64).unwrap();
        }
        lua.create_string(packed)
    })?;
    let unpack = lua.create_function(|_, packed: mlua::String| {
        let mut rest = &*packed.as_bytes();
        let mut numbers = Variadic::new();
        while !rest.is_empty() {
            #[expect(clippy::cast_precision_loss, reason = "numbers of scripts are below 2^53")]
            let number = rmp::decode::read_int::<i64, _>(&mut rest).unwrap() as f64;
            numbers.push(number);
        }
        Ok(numbers)
    })?;
    let functions = lua.create_table()?;
    functions.set("pack", pack)?;
    functions.set("unpack", unpack)?;
    Ok(functions)
}

impl State {
    fn call(&mut self, lua: &Lua, arguments: &[String]) -> mlua::Result<Value> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let millis = self.micros / 1_000;
        self.data.0.retain(|_, entry| entry.expires_millis.is_none_or(|end| end > millis));
        let text = |text: &str| {
            let bytes: Vec<u8> = text.chars().map(|sign| sign as u8).collect();
            Ok(Value::String(lua.create_string(bytes)?))
        };
        match words[..] {
            ["TIME"] => {
                let micros = self.micros;
                let parts = [micros / 1_000_000, micros % 1_000_000].map(|part| part.to_string());
                Ok(Value::Table(lua.create_sequence_from(parts)?))
            }
            ["GET", key] => match self.data.0.get(key) {
                Some(Entry { value: Stored::Text(found), .. }) => text(found),
                Some(_) => panic!("{key} is a hash"),
                None => Ok(Value::Boolean(false)),
            },
            ["SET", key, _, "XX"] if !self.data.0.contains_key(key) => Ok(Value::Boolean(false)),
            ["SET", key, _, "NX", ..] if self.data.0.contains_key(key) => Ok(Value::Boolean(false)),
            ["SET", key, value, ref options @ ..] => {
                let expires_millis = match *options {
                    ["PXAT", end] => Some(end.parse().unwrap()),
                    ["NX", "PX", length] => Some(millis + length.parse::<u64>().unwrap()),
                    _ => panic!("SET with {options:?}"),
                };
                let value = Stored::Text(value.to_owned());
                self.data.0.insert(key.to_owned(), Entry { value, expires_millis });
                text("OK")
            }
            ["PTTL", key] => Ok(Value::Integer(match self.data.0.get(key) {
                None => -2,
                Some(Entry { expires_millis: None, .. }) => -1,
                Some(Entry { expires_millis: Some(end), .. }) => (end - millis) as i64,
            })),
            ["DEL", key] => {
                let was = self.data.0.remove(key).is_some();
                Ok(Value::Integer(was.into()))
            }
            ["PEXPIREAT", key, end] => {
                if let Some(entry) = self.data.0.get_mut(key) {
                    entry.expires_millis = Some(end.parse().unwrap());
                }
                Ok(Value::Integer(1))
            }
            [command, key, ref arguments @ ..] if command.starts_with('Z') => {
                self.call_sorted(lua, command, key, arguments)
            }
            [command, key, ref fields @ ..] => self.call_hash(lua, command, key, fields),
            _ => panic!("unknown call {words:?}"),
        }
    }

    fn call_sorted(
        &mut self,
        lua: &Lua,
        command: &str,
        key: &str,
        arguments: &[&str],
    ) -> mlua::Result<Value> {
        let empty = || Entry { value: Stored::Sorted(BTreeSet::new()), expires_millis: None };
        let entry = self.data.0.entry(key.to_owned()).or_insert_with(empty);
        let Stored::Sorted(members) = &mut entry.value else { panic!("{key} is no sorted set") };
        // An index from the end is negative.
        let index = |text: &str| {
            let index: i64 = text.parse().unwrap();
            let is_from_end = index < 0;
            usize::try_from(if is_from_end { index + members.len() as i64 } else { index })
        };
        let answer = match (command, arguments) {
            // A member that is not there.
            ("ZADD", ["XX", _, _]) => Value::Integer(0),
            ("ZADD", [score, member]) => {
                members.retain(|(_, other)| other != member);
                members.insert((score.parse().unwrap(), (*member).to_owned()));
                Value::Integer(1)
            }
            ("ZCARD", []) => Value::Integer(members.len() as i64),
            ("ZCOUNT", ["-inf", most]) => {
                let most: i64 = most.parse().unwrap();
                let count = members.iter().filter(|(score, _)| *score as i64 <= most).count();
                Value::Integer(count as i64)
            }
            ("ZRANGE", [first, last, "WITHSCORES"]) => {
                let (first, last) = (index(first).unwrap_or(0), index(last));
                let count = last.map_or(0, |last| (last + 1).saturating_sub(first));
                let found = members.iter().skip(first).take(count);
                let texts = found.flat_map(|(score, member)| [member.clone(), score.to_string()]);
                Value::Table(lua.create_sequence_from(texts)?)
            }
            ("ZREMRANGEBYRANK", ["0", last]) => {
                let count = index(last).map_or(0, |last| last + 1);
                let kept = members.iter().skip(count).cloned().collect();
                *members = kept;
                Value::Integer(0)
            }
            _ => panic!("unknown call {command} {key} {arguments:?}"),
        };
        // As a server does, which keeps no set without members.
        if members.is_empty() {
            self.data.0.remove(key);
        }
        Ok(answer)
    }

    fn call_hash(
        &mut self,
        lua: &Lua,
        command: &str,
        key: &str,
        fields: &[&str],
    ) -> mlua::Result<Value> {
        let empty = || Entry { value: Stored::Hash(HashMap::new()), expires_millis: None };
        if command == "HMGET" {
            let found = match self.data.0.get(key) {
                Some(Entry { value: Stored::Hash(hash), .. }) => Some(hash),
                Some(_) => panic!("{key} is no hash"),
                None => None,
            };
            let values: Table = lua.create_table()?;
            for (index, field) in fields.iter().enumerate() {
                match found.and_then(|hash| hash.get(*field)) {
                    Some(value) => values.set(index + 1, value.as_str())?,
                    None => values.set(index + 1, false)?,
                }
            }
            return Ok(Value::Table(values));
        }
        let entry = self.data.0.entry(key.to_owned()).or_insert_with(empty);
        let Stored::Hash(hash) = &mut entry.value else { panic!("{key} is no hash") };
        match (command, fields) {
            ("HSET", pairs) => {
                for pair in pairs.chunks(2) {
                    hash.insert(pair[0].to_owned(), pair[1].to_owned());
                }
            }
            ("HDEL", fields) => hash.retain(|field, _| !fields.contains(&&**field)),
            ("HINCRBY", [field, by]) => {
                let value = hash.entry((*field).to_owned()).or_insert_with(|| "0".to_owned());
                let sum = value.parse::<i64>().unwrap() + by.parse::<i64>().unwrap();
                *value = sum.to_string();
            }
            _ => panic!("unknown call {command} {key} {fields:?}"),
        }
        Ok(Value::Integer(0))
    }
}
