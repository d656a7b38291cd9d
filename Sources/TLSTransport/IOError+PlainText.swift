import Glibc
import NIOCore

extension IOError {
    /// The system's words alone, for instance "connection refused".
    ///
    /// NIO's own description adds a call's name, a number and a bracket that nothing opens.
    package var plainText: String {
        let text = String(cString: strerror(errnoCode))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

/// Why nobody can listen at an address, in words that lead to the remedy; nil: the error is about something else.
package func listeningProblem(_ error: any Error) -> String? {
    guard let error = error as? IOError else {
        return error is SocketAddressError.UnknownHost ? "no address is known for this name" : nil
    }
    return switch error.errnoCode {
    case EADDRINUSE: "the port is taken by another process"
    case EADDRNOTAVAIL: "the address is not this machine's"
    case EACCES: "the port is for privileged users only"
    default: error.plainText
    }
}
