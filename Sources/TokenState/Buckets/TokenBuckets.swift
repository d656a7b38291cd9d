/// Finds the bucket of a token by linear hashing. The buckets of a hash tag are split one by one as its tokens become
/// more, and no other bucket is touched.
///
/// With n buckets, 2^L ≤ n < 2^(L+1), the first n − 2^L are split already: a token is in bucket h mod 2^L, or, if that
/// is one of those, in bucket h mod 2^(L+1). The next split moves tokens from bucket n − 2^L to the new bucket n.
/// Source: W. Litwin, "Linear hashing: a new tool for file and table addressing", 1980.
enum TokenBuckets {
    /// Tokens of a bucket beyond which the next bucket of its tag is split. On average a bucket then has about 64.
    /// Redis keeps hashes of up to 512 fields (128 in some versions) in the compact form.
    static let splitAbove = 112

    /// - Parameter count: the number of buckets, at least 1.
    static func index(hash: UInt32, count: Int) -> Int {
        let size = 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount)
        let index = Int(hash) & (size - 1)
        return index < count - size ? Int(hash) & (2 * size - 1) : index
    }

    /// The bucket whose tokens the next split divides; the new one has number `count`.
    static func nextSplit(count: Int) -> Int {
        count - 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount)
    }
}
