import COpenSSL

extension CertificateAuthority {
    /// A virtual device's certificate for the courier.
    ///
    /// - Parameters:
    ///   - device: its number, from 0.
    ///   - validity: first and last second, UNIX seconds UTC, also in the past; `nil`: ten years from now.
    public func issueDevice(
        _ device: UInt32,
        validity: ClosedRange<Int64>? = nil
    ) throws(TLSConfigurationError) -> TLSIdentity {
        try CertificateBuilder(
            subject: [
                (NID_organizationalUnitName, DeviceSubject.unit), (NID_commonName, DeviceSubject.commonName(device)),
            ],
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "clientAuth"),
                (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid"),
            ],
            validity: validity ?? Self.defaultValidity()
        ).issue(by: root)
    }
}

extension DevelopmentPKI {
    /// Path of a virtual device's certificate and key, mode 0600; written when it is first asked for.
    public func deviceFile(_ device: UInt32) -> String {
        let name = "\(DeviceSubject.commonName(device)).pem"
        return directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    /// Reads a virtual device's certificate and key; the directory's authority makes missing ones.
    ///
    /// Not made for two processes at a time in one directory.
    ///
    /// - Throws: the fault of the device's file, the authority's, or the directory.
    @discardableResult
    public func deviceIdentity(_ device: UInt32) throws(TLSConfigurationError) -> TLSIdentity {
        let file = deviceFile(device)
        if FileAccess.exists(file) { return try TLSIdentity(pemFile: file) }
        let authority = CertificateAuthority(root: try TLSIdentity(pemFile: authorityKeyFile))
        let identity = try authority.issueDevice(device)
        try identity.writePEM(to: file)
        return identity
    }
}
