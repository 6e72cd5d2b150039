//! Writes one case as JSON, faster than a general serializer can.
//!
//! A report has millions of these. What is written is, byte for byte, what serde would write for
//! [`wire::Test`](super::wire::Test); a test holds the two together.

/// Appends to a buffer the members of one object.
pub(super) struct Object<'b> {
    buffer: &'b mut Vec<u8>,
    first: bool,
}

impl<'b> Object<'b> {
    /// Opens an object.
    pub(super) fn open(buffer: &'b mut Vec<u8>) -> Self {
        buffer.push(b'{');
        Self { buffer, first: true }
    }

    /// Goes on with an object that has members already.
    pub(super) fn resume(buffer: &'b mut Vec<u8>) -> Self {
        Self { buffer, first: false }
    }

    /// Bytes that are JSON already.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// A whole number whose key is written already.
    pub(super) fn digits(&mut self, value: u64) {
        number(self.buffer, value);
    }

    /// Closes it.
    pub(super) fn close(self) {
        self.buffer.push(b'}');
    }

    /// A string, even if it is empty. `key` is the quoted key with its colon.
    pub(super) fn string(&mut self, key: &'static str, value: &str) {
        self.key(key);
        string(self.buffer, value);
    }

    /// A string, unless it is empty.
    pub(super) fn filled(&mut self, key: &'static str, value: &str) {
        if !value.is_empty() {
            self.string(key, value);
        }
    }

    /// A string, if there is one.
    pub(super) fn optional(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.string(key, value);
        }
    }

    /// A whole number.
    pub(super) fn number(&mut self, key: &'static str, value: u64) {
        self.key(key);
        number(self.buffer, value);
    }

    /// `true`, unless it is false.
    pub(super) fn flag(&mut self, key: &'static str, value: bool) {
        if value {
            self.key(key);
            self.buffer.extend_from_slice(b"true");
        }
    }

    /// A list of strings, unless it is empty.
    pub(super) fn list<'a>(
        &mut self,
        key: &'static str,
        items: impl ExactSizeIterator<Item = &'a str>,
    ) {
        if items.len() == 0 {
            return;
        }
        self.key(key);
        let mut separator = b'[';
        for item in items {
            self.buffer.push(separator);
            string(self.buffer, item);
            separator = b',';
        }
        self.buffer.push(b']');
    }

    /// Anything else that serde can write, unless it is empty.
    pub(super) fn unless(
        &mut self,
        is_empty: bool,
        key: &'static str,
        value: &impl serde::Serialize,
    ) -> serde_json::Result<()> {
        if is_empty {
            return Ok(());
        }
        self.key(key);
        serde_json::to_writer(&mut *self.buffer, value)
    }

    /// An identity with its occurrence, in hexadecimal.
    pub(super) fn identity(&mut self, key: &'static str, bits: u64, occurrence: u32) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.key(key);
        let mut hex = [b'"'; 17];
        for (place, digit) in hex[1..].iter_mut().enumerate() {
            *digit = DIGITS[(bits >> (60 - 4 * place) & 15) as usize];
        }
        self.buffer.extend_from_slice(&hex);
        if occurrence > 1 {
            self.buffer.push(b'#');
            number(self.buffer, u64::from(occurrence));
        }
        self.buffer.push(b'"');
    }

    fn key(&mut self, key: &'static str) {
        if !self.first {
            self.buffer.push(b',');
        }
        self.first = false;
        self.buffer.extend_from_slice(key.as_bytes());
    }
}

fn number(buffer: &mut Vec<u8>, mut value: u64) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return buffer.extend_from_slice(&digits[first..]);
        }
    }
}

/// Appends a JSON string, looking at eight bytes at a time for any that must be escaped.
fn string(buffer: &mut Vec<u8>, value: &str) {
    buffer.reserve(value.len() + 2);
    buffer.push(b'"');
    let bytes = value.as_bytes();
    let mut from = 0;
    while let Some(at) = next_special(bytes, from) {
        buffer.extend_from_slice(&bytes[from..at]);
        escape(buffer, bytes[at]);
        from = at + 1;
    }
    buffer.extend_from_slice(&bytes[from..]);
    buffer.push(b'"');
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Where the next byte is that cannot stand in a JSON string as it is.
fn next_special(bytes: &[u8], from: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let quote = has_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = has_zero(word ^ (ONES * u64::from(b'\\')));
        if control | quote | backslash != 0 {
            // A borrow may set a higher byte's bit too, so look at the bytes themselves.
            if let Some(offset) = chunk.iter().position(|&byte| is_special(byte)) {
                return Some(at + offset);
            }
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    rest.iter().position(|&byte| is_special(byte)).map(|offset| at + offset)
}

fn escape(buffer: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            buffer.extend_from_slice(b"\\u00");
            buffer.push(DIGITS[usize::from(byte >> 4)]);
            return buffer.push(DIGITS[usize::from(byte & 15)]);
        }
    };
    buffer.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_written_as_they_are(value in any::<u64>(), shift in 0_u32..64) {
            let mut buffer = Vec::new();
            number(&mut buffer, value >> shift);
            prop_assert_eq!(String::from_utf8(buffer).unwrap(), (value >> shift).to_string());
        }

        #[test]
        fn strings_are_written_as_serde_writes_them(text in any::<String>(), control in "[\\x00-\\x7f\\\\\"]{0,40}") {
            let text = format!("{text}{control}{text}");
            let mut buffer = Vec::new();
            string(&mut buffer, &text);
            prop_assert_eq!(String::from_utf8(buffer).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
