import KafkaClient
import LocalPipeline

extension Board {
    /// The desk of the pump of registrations.
    ///
    /// - Parameter trim: has its turn while the broker is up.
    func registrationDesk(_ trim: RegistrationTrim) -> RegistrationPump.Desk {
        RegistrationPump.Desk(
            orders: { [self] in
                let state = read()
                if state.isAborted || state.failure != nil { return .end }
                switch state.phase {
                case .finished: return .end
                case .publishing: return state.isHeldBack ? .follow : .publish
                case .waiting, .draining: return .follow
                }
            },
            tell: { [self] progress in
                change {
                    $0.registrations = progress.registrations
                    $0.feedback = progress.feedback
                    $0.feedbackSeen = progress.seen
                    $0.areRegistrationsAcknowledged = progress.isAcknowledged
                }
                if read().isBrokerUp { trim.turn(seen: progress.seen) }
            },
            fail: { [self] text in change { if $0.failure == nil { $0.failure = text } } }
        )
    }
}
