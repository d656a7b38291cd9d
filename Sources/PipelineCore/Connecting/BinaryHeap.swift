/// A line of elements of which the least comes first, in logarithmic time.
struct BinaryHeap<Element: Comparable & Sendable>: Sendable {
    private var elements: [Element] = []
    /// Comparisons, ever: the cost of all calls.
    private(set) var steps = 0

    var first: Element? { elements.first }
    var count: Int { elements.count }

    mutating func insert(_ element: Element) {
        var place = elements.count
        elements.append(element)
        while place > 0 {
            steps += 1
            let parent = (place - 1) / 2
            guard element < elements[parent] else { break }
            elements[place] = elements[parent]
            place = parent
        }
        elements[place] = element
    }

    /// Removes the least element of a heap that is not empty.
    mutating func removeFirst() {
        let last = elements.removeLast()
        guard !elements.isEmpty else { return }
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < elements.count else { break }
            steps += 2
            if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
            guard elements[child] < last else { break }
            elements[place] = elements[child]
            place = child
        }
        elements[place] = last
    }

    /// Holds these elements from now on.
    mutating func replaceAll(by others: [Element]) {
        steps += others.count
        // A sorted array is a heap.
        elements = others.sorted()
    }
}
