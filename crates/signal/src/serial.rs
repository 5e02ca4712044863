//! 32-bit sequence numbers that wrap around (RFC 1982, RFC 9293 §3.4), and the 64-bit ones behind
//! them.

/// The number nearest to `near` whose low 32 bits are `wire`.
pub fn unwrap(wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(near as u32).cast_signed();
    near.saturating_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_go_on_where_the_wire_wraps() {
        assert_eq!(unwrap(3, 0xffff_fffe), 0x1_0000_0003);
        assert_eq!(unwrap(0xffff_fffe, 0x1_0000_0003), 0xffff_fffe);
        assert_eq!(unwrap(5, 7), 5);
    }

    proptest! {
        #[test]
        fn any_number_comes_back_from_within_two_to_the_31(
            near in 1u64 << 31..1 << 62,
            ahead in -(1i64 << 31)..1 << 31,
        ) {
            let number = near.saturating_add_signed(ahead);
            prop_assert_eq!(unwrap(number as u32, near), number);
        }
    }
}
