import APNsProtocol

extension SandboxConfiguration {
    /// Sets what the gateway accepts and answers, which changed over the years.
    ///
    /// - Parameters:
    ///   - payloadLimitBytes: 256 [13], or 2048 as since iOS 8 [later].
    ///   - tokenLimitBytes: 32 [13] to 100 [later]: tokens of 32 bytes up to this many are let through, and those that
    ///     the service itself names are this long.
    ///   - protocolErrorStatus: the answer to what cannot be parsed, 255, or 128 as in [later].
    /// - Throws: ``SandboxSetupError`` naming the setting.
    public mutating func setFormats(
        payloadLimitBytes: Int = PayloadLimit.binary2013,
        tokenLimitBytes: Int = TokenMint.tokenBytes,
        protocolErrorStatus: Int = Int(APNsStatus.unknown.rawValue)
    ) throws(SandboxSetupError) {
        let payloadLimits = [PayloadLimit.binary2013, PayloadLimit.binaryIOS8]
        guard payloadLimits.contains(payloadLimitBytes) else {
            let allowed = payloadLimits.map(String.init).joined(separator: " or ")
            throw SandboxSetupError(subject: "payload-limit", problem: "\(payloadLimitBytes), \(allowed) is expected")
        }
        guard TokenMint.tokenLengths.contains(tokenLimitBytes) else {
            throw SandboxSetupError(subject: "token-limit", problem: TokenMint.lengthProblem(tokenLimitBytes))
        }
        let statuses = [APNsStatus.protocolError, .unknown]
        guard let status = statuses.first(where: { Int($0.rawValue) == protocolErrorStatus }) else {
            let allowed = statuses.map { "\($0.rawValue)" }.joined(separator: " or ")
            let problem = "\(protocolErrorStatus), \(allowed) is expected"
            throw SandboxSetupError(subject: "protocol-error-status", problem: problem)
        }
        gatewayLimits = GatewayLimits(
            payloadLimitBytes: payloadLimitBytes,
            tokenBytes: TokenMint.tokenBytes...tokenLimitBytes,
            protocolErrorStatus: status
        )
    }

    /// Checks that tokens of ``gatewayLimits`` can be minted. A caller can set the limits to anything.
    func checkFormats() throws(SandboxSetupError) {
        let tokens = gatewayLimits.tokenBytes
        guard tokens.lowerBound <= TokenMint.tokenBytes, TokenMint.tokenLengths.contains(tokens.upperBound) else {
            throw SandboxSetupError(subject: "token-limit", problem: TokenMint.lengthProblem(tokens.upperBound))
        }
    }
}
