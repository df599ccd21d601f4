//! Decimal digits, eight at a time.
//!
//! Idea: large histories are mostly digits. Eight bytes are one machine word: one comparison finds how many of
//! them are digits, three multiplications join those to a number, and no branch depends on their count.

/// Numbers with more digits are left to the caller: they might not fit.
pub(super) const MOST: usize = 18;

const ZEROS: u64 = 0x3030_3030_3030_3030;
/// Added to the bytes 0 to 9 this stays below 128, added to 10 it does not.
const ABOVE_NINE: u64 = 0x7676_7676_7676_7676;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number at the beginning of the bytes and how many digits it has; with more than [`MOST`] of them the number is
/// meaningless.
#[inline]
pub(super) fn leading(bytes: &[u8]) -> (u64, usize) {
    let mut value = 0_u64;
    let mut count = 0;
    while let Some(word) = bytes.get(count..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word) ^ ZEROS;
        // A byte that is not a digit may carry into those after it, which no longer matter.
        let others = (word.wrapping_add(ABOVE_NINE) | word) & HIGH_BITS;
        let found = others.trailing_zeros() as usize / 8;
        if found == 0 {
            return (value, count);
        }
        value = value.wrapping_mul(POWERS[found]).wrapping_add(joined(word << (64 - 8 * found)));
        count += found;
        if found < 8 || count > MOST {
            return (value, count);
        }
    }
    for byte in &bytes[count..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// Eight digits, the first one in the lowest byte, as a number: pairs, then fours, then all of them.
#[inline]
fn joined(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_like_text(number in 0_u64..1_000_000_000_000_000_000, rest in "[^0-9]{0,12}") {
            let digits = number.to_string();
            for cut in 0..digits.len() {
                let text = format!("{}{rest}", &digits[cut..]);
                let expected = digits[cut..].parse().unwrap();
                prop_assert_eq!(leading(text.as_bytes()), (expected, digits.len() - cut));
            }
        }

        #[test]
        fn any_bytes_have_as_many_digits_as_they_begin_with(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (_, found) = leading(&bytes);
            prop_assert!(found == count || found > MOST && count >= found);
        }
    }

    #[test]
    fn too_many_digits_are_noticed() {
        assert!(leading(&[b'9'; 40]).1 > MOST);
        assert_eq!(leading(b""), (0, 0));
        assert_eq!(leading(b"00000000012,"), (12, 11));
    }
}
