extension RandomAccessCollection {
    /// The first index of the second part; the end if that is empty. In logarithmic time.
    ///
    /// - Parameter belongsInSecond: false for the elements of a first part, true for all that follow.
    @inlinable
    public func partitioningIndex(where belongsInSecond: (Element) -> Bool) -> Index {
        var low = startIndex
        var left = count
        while left > 0 {
            let half = left / 2
            let middle = index(low, offsetBy: half)
            if belongsInSecond(self[middle]) {
                left = half
            } else {
                low = index(after: middle)
                left -= half + 1
            }
        }
        return low
    }
}
