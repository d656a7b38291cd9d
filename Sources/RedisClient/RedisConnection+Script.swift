import NIOCore

extension RedisConnection {
    /// Runs a script by its hash (EVALSHA). If the server does not have it (new, restarted, flushed, failed over), the
    /// script is loaded and the call repeated, once.
    ///
    /// A repeated call runs after commands that were sent behind it; calls of one script that were in flight together
    /// keep their order among themselves.
    ///
    /// - Parameters:
    ///   - keyCount: The number of arguments that are `KEYS`.
    ///   - argumentCount: The number of arguments that are `ARGV`.
    ///   - write: Writes the keys, then the other arguments: `keyCount + argumentCount` calls of
    ///     `RedisCommandWriter.argument`. Called before the call returns.
    ///   - completion: As in ``send(_:_:)``; a script that does not compile fails with the server's error.
    public func evaluate(
        _ script: RedisScript,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        eventLoop.preconditionInEventLoop()
        let call = script.call(keyCount: keyCount, argumentCount: argumentCount, write)
        evaluate(encoded: call, of: script, completion)
    }

    /// Runs an encoded call of a script.
    ///
    /// - Parameter asking: true: the node is told that a redirection named it for this call (ASKING).
    func evaluate(
        encoded call: ByteBuffer,
        of script: RedisScript,
        asking: Bool = false,
        _ completion: @escaping Completion
    ) {
        send(encoded: call, asking: asking) { result in
            guard result.isUnknownScript else {
                completion(result)
                return
            }
            self.load(script)
            self.send(encoded: call, asking: asking) { completion(self.explained($0, script)) }
        }
    }

    /// Sends a command; with `asking`, ASKING goes before it, so that the importing node takes it.
    func send(encoded command: ByteBuffer, asking: Bool, _ completion: @escaping Completion) {
        if asking {
            send {
                $0.command("ASKING", argumentCount: 0)
            } _: { _ in
            }
        }
        send(encoded: command, completion)
    }

    /// The state of the loading of a script.
    enum ScriptLoad {
        /// SCRIPT LOAD is on its way; commands sent behind it find the script.
        case underWay
        case failed(RedisError)
    }

    /// Sends SCRIPT LOAD, unless one is on its way: of a thousand calls in flight only the first needs to.
    private func load(_ script: RedisScript) {
        if case .underWay = scriptLoads[script] { return }
        scriptLoads[script] = .underWay
        send { writer in
            writer.command("SCRIPT", argumentCount: 2)
            writer.argument("LOAD")
            writer.argument(script.source)
        } _: { result in
            switch result {
            case .success: self.scriptLoads[script] = nil
            case .failure(let error): self.scriptLoads[script] = .failed(error)
            }
        }
    }

    /// The result of a repeated call. If the script is still unknown, the error of its loading takes its place.
    private func explained(
        _ result: Result<RedisReply, RedisError>,
        _ script: RedisScript
    ) -> Result<RedisReply, RedisError> {
        guard result.isUnknownScript, case .failed(let error) = scriptLoads[script] else { return result }
        return .failure(error)
    }
}

extension RedisScript {
    /// Bytes of a usual call: a larger one makes its buffer grow.
    private static let usualBytes = 512

    /// Encodes a call by the hash, in a buffer of its own: the arguments may be gone when the call is repeated.
    func call(keyCount: Int, argumentCount: Int, _ write: (inout RedisCommandWriter) -> Void) -> ByteBuffer {
        var writer = RedisCommandWriter(buffer: ByteBufferAllocator().buffer(capacity: Self.usualBytes))
        writer.command("EVALSHA", argumentCount: 2 + keyCount + argumentCount)
        writer.argument(digest)
        writer.argument(keyCount)
        write(&writer)
        return writer.finish()
    }
}

extension Result where Success == RedisReply, Failure == RedisError {
    fileprivate var isUnknownScript: Bool {
        if case .failure(.server(prefix: "NOSCRIPT", _)) = self { true } else { false }
    }
}
