//! Tests of the CPU implementations against naive loops, with and without the feature `cuda`.

#[path = "common/random.rs"]
mod random;

use compaction::{
    partition::{self, TILE_ITEMS},
    radix_sort::{self, Order},
    scan::{self, Operator},
    select::{self, Strategy},
    select_columns, summed_area,
};
use rand::RngExt;

use crate::random::{MASKS, assert_equal_bytes, items, seeded};

compaction::shared! {
    /// An item with fields.
    struct Record {
        words: [u32; 3],
    }
}

const LENGTHS: [usize; 5] = [0, 1, 1000, TILE_ITEMS as usize + 1, 100_003];

#[test]
fn select_keeps_the_flagged_items() {
    let mut random = seeded(1);
    for len in LENGTHS {
        for &mask in MASKS {
            let flags = mask.flags(len, &mut random);
            let all = items::<Record>(len);
            let kept = (0..len).filter(|&item| flags[item] != 0);
            let (mut out, mut indices) = (vec![Record::default(); len], vec![0_u32; len]);
            let count = select::cpu::items(Strategy::LookBack, &all, &flags, &mut out).unwrap();
            assert_eq!(count, kept.clone().count());
            assert_equal_bytes(kept.clone().map(|item| &all[item]), &out, "items");
            select::cpu::indices(Strategy::LookBack, &flags, &mut indices).unwrap();
            assert!(kept.eq(indices[..count].iter().map(|&item| item as usize)));
        }
    }
}

#[test]
fn partition_puts_the_flagged_items_first() {
    let mut random = seeded(2);
    for len in LENGTHS {
        for &mask in MASKS {
            let flags = mask.flags(len, &mut random);
            let (first, last): (Vec<u32>, Vec<u32>) =
                (0..len as u32).partition(|&item| flags[item as usize] != 0);
            let mut out = vec![0; len];
            let count = partition::cpu::indices(&flags, &mut out).unwrap();
            assert_eq!(count, first.len());
            assert_eq!(out, [first, last].concat());
        }
    }
}

#[test]
fn columns_keep_the_same_items() {
    let flags = MASKS[5].flags(10_000, &mut seeded(3));
    let (records, bytes) = (items::<Record>(flags.len()), items::<u8>(flags.len()));
    let (mut kept_records, mut kept_bytes) = (records.clone(), bytes.clone());
    let mut columns = [
        select_columns::cpu::Column::new(&records, &mut kept_records),
        select_columns::cpu::Column::new(&bytes, &mut kept_bytes),
    ];
    let count = select_columns::cpu::columns(&flags, &mut columns).unwrap();
    let kept = (0..flags.len()).filter(|&item| flags[item] != 0);
    assert_eq!(count, kept.clone().count());
    assert_equal_bytes(
        kept.clone().map(|item| &records[item]),
        &kept_records,
        "records",
    );
    assert_equal_bytes(kept.map(|item| &bytes[item]), &kept_bytes, "bytes");
}

#[test]
fn sorts_are_stable() {
    let mut random = seeded(4);
    for len in LENGTHS {
        let keys: Vec<i32> = (0..len).map(|_| random.random_range(-500..500)).collect();
        let values: Vec<u32> = (0..len as u32).collect();
        let mut expected: Vec<_> = keys.iter().copied().zip(values.iter().copied()).collect();
        expected.sort_by_key(|&(key, _)| key);
        let (mut sorted, mut moved) = (vec![0; len], vec![0; len]);
        let to = (&mut sorted[..], &mut moved[..]);
        radix_sort::cpu::pairs(Order::Ascending, 0..32, &keys, &values, to.0, to.1).unwrap();
        assert!(sorted.into_iter().zip(moved).eq(expected));
    }
}

#[test]
fn scans_combine_every_prefix() {
    let mut random = seeded(5);
    for len in LENGTHS {
        let numbers: Vec<u64> = (0..len).map(|_| random.random()).collect();
        let prefixes = |combine: fn(u64, u64) -> u64, first| {
            let mut total = first;
            let add = move |&number: &u64| {
                total = combine(total, number);
                total
            };
            numbers.iter().map(add).collect::<Vec<_>>()
        };
        let mut out = vec![0; len];
        scan::cpu::inclusive(Operator::Sum, &numbers, &mut out).unwrap();
        assert_eq!(out, prefixes(u64::wrapping_add, 0));
        scan::cpu::inclusive(Operator::Min, &numbers, &mut out).unwrap();
        assert_eq!(out, prefixes(u64::min, u64::MAX));
        scan::cpu::inclusive(Operator::Max, &numbers, &mut out).unwrap();
        assert_eq!(out, prefixes(u64::max, 0));
    }
}

#[test]
fn tables_sum_every_rectangle_from_the_origin() {
    let (width, height) = (130, 77);
    let mut random = seeded(6);
    let numbers: Vec<u32> = (0..width * height).map(|_| random.random()).collect();
    let mut table = vec![0; numbers.len()];
    summed_area::cpu::table(&numbers, (width, height), &mut table).unwrap();
    for _ in 0..100 {
        let (x, y) = (
            random.random_range(0..width),
            random.random_range(0..height),
        );
        let rows = (0..=y).map(|y| &numbers[y * width..][..=x]);
        let sum = rows
            .flatten()
            .fold(0, |sum: u32, &item| sum.wrapping_add(item));
        assert_eq!(table[y * width + x], sum);
    }
}
