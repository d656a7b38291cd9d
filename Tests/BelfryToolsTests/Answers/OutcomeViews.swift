@testable import BelfryTools

extension OutcomeFollower.View {
    /// All outcomes, as JSON.
    static func showing(from start: OutcomeFollower.Start, limit: Int?) -> OutcomeFollower.View {
        var view = OutcomeFollower.View()
        view.start = start
        view.limit = limit
        view.asJSON = true
        return view
    }
}
