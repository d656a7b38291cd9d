import Glibc
import NIOCore
import NIOPosix

// Errors of sockets in words for people. NIO's own descriptions are dumps of fields, calls and numbers.

/// The reason why a connection could not be made, or ended, in a few words: "cannot connect: connection refused". Of
/// several addresses each reason is told once.
///
/// An error that is not NIO's speaks for itself.
package func connectionProblem(_ error: any Error) -> String {
    if let error = error as? IOError { return systemText(error.errnoCode) }
    guard let error = error as? NIOConnectionError else { return "\(error)" }
    var problems: [String] = []
    for failure in error.connectionErrors {
        let problem = connectionProblem(failure.error)
        if !problems.contains(problem) { problems.append(problem) }
    }
    if !problems.isEmpty { return "cannot connect: \(problems.joined(separator: ", "))" }
    let resolution = error.dnsAError ?? error.dnsAAAAError
    return "cannot resolve \"\(error.host)\"" + (resolution.map { ": \(connectionProblem($0))" } ?? "")
}

/// The reason why a server cannot listen at an address, in words that lead to the remedy; nil: the error is about
/// something else.
package func listeningProblem(_ error: any Error) -> String? {
    guard let error = error as? IOError else {
        return error is SocketAddressError.UnknownHost ? "no address is known for this name" : nil
    }
    return switch error.errnoCode {
    case EADDRINUSE: "the port is taken by another process"
    case EADDRNOTAVAIL: "the address is not this machine's"
    case EACCES: "the port is for privileged users only"
    default: systemText(error.errnoCode)
    }
}

/// The system's words for an error number, as they stand within a sentence.
private func systemText(_ number: CInt) -> String {
    let text = String(cString: strerror(number))
    return text.prefix(1).lowercased() + text.dropFirst()
}
