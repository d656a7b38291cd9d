import FoundationEssentials
import NIOCore

/// Carries a ``FaultScript`` out.
struct FaultScriptRunner: Sendable {
    private let script: FaultScript
    private let api: ControlAPI
    /// One for each step.
    private let changes: [FaultChange]

    /// Reads a script and checks that all of it is possible.
    ///
    /// - Throws: ``SandboxSetupError`` naming the file, the step and the field.
    init(file: String, service: PushService) throws(SandboxSetupError) {
        let content: Data
        do {
            content = try Data(contentsOf: URL(filePath: file))
        } catch {
            throw SandboxSetupError(subject: file, problem: "cannot be read: \(error)")
        }
        guard content.count <= FaultLimits.scriptBytes else {
            throw SandboxSetupError(subject: file, problem: "is over \(FaultLimits.scriptBytes) bytes")
        }
        do {
            try self.init(FaultScript(json: Array(content)), api: ControlAPI(service: service))
        } catch {
            let problem = error.field.map { "\($0) \(error.error)" } ?? error.error
            throw SandboxSetupError(subject: file, problem: problem)
        }
    }

    /// - Throws: ``ControlError`` when a step is for something that is not served.
    init(_ script: FaultScript, api: ControlAPI) throws(ControlError) {
        self.script = script
        self.api = api
        var changes: [FaultChange] = []
        for step in script.steps {
            do {
                changes.append(try api.prepare(step.request))
            } catch {
                throw error.inside(step.place)
            }
        }
        self.changes = changes
    }

    /// The time begins now. It ends with the event loop.
    func start(on eventLoop: any EventLoop) {
        if let seed = script.seed {
            api.carryOut(FaultChange(topics: api.service.topics, isForTheDoor: false, kind: .seed(seed)))
        }
        proceed(script, since: eventLoop.now, on: eventLoop)
    }

    private func proceed(_ script: FaultScript, since start: NIODeadline, on eventLoop: any EventLoop) {
        guard let next = script.nextAt else { return }
        eventLoop.scheduleTask(deadline: start + .nanoseconds(next)) {
            var script = script
            for index in script.takeDue(now: (eventLoop.now - start).nanoseconds) {
                api.carryOut(changes[index])
            }
            proceed(script, since: start, on: eventLoop)
        }
    }
}
