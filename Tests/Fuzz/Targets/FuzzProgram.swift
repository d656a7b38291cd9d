import Glibc

#if FUZZING
import CLibFuzzer

/// Compiled with the sanitizers: `belfry-fuzz TARGET [arguments of libFuzzer]`.
@main
enum FuzzProgram {
    /// Variable with the target's name. Processes that libFuzzer starts, with arguments of its own, find it there.
    private static let variable = "BELFRY_FUZZ_TARGET"

    static func main() {
        // libFuzzer takes the word before the target's name for the program.
        var skipped = 0
        if CommandLine.argc >= 2, FuzzTarget(rawValue: CommandLine.arguments[1]) != nil {
            setenv(variable, CommandLine.arguments[1], 1)
            skipped = 1
        }
        guard let name = getenv(variable), let target = FuzzTarget(rawValue: String(cString: name)) else {
            fail("usage: belfry-fuzz TARGET [arguments of libFuzzer]", code: 64)
        }
        fuzzedTarget = target
        var count = CommandLine.argc - CInt(skipped)
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + skipped
        if skipped > 0 { arguments?[0] = CommandLine.unsafeArgv[0] }
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzOneInput))
    }
}

/// Also by the name that libFuzzer's own main function, which is linked but not called, wants to find.
@c(LLVMFuzzerTestOneInput)
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    run(fuzzedTarget, UnsafeRawBufferPointer(start: data, count: count), named: "input")
    return 0
}

/// Written before the first input, read by libFuzzer's one thread.
nonisolated(unsafe) private var fuzzedTarget = FuzzTarget.gateway
#else
/// Compiled without the sanitizers: `belfry-fuzz seeds DIRECTORY` writes the seeds of all targets, a folder each, and
/// `belfry-fuzz TARGET FILE…` runs inputs once, to look at a finding in a debugger.
@main
enum FuzzProgram {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first, arguments.count >= 2 else { usage() }
        if name == "seeds", arguments.count == 2 {
            for target in FuzzTarget.allCases { write(Seeds.all(of: target), to: "\(arguments[2])/\(target.rawValue)") }
        } else if let target = FuzzTarget(rawValue: name) {
            for file in arguments.dropFirst() { replay(file, target) }
        } else {
            usage()
        }
    }

    private static func usage() -> Never {
        fail("usage: belfry-fuzz TARGET FILE…, or belfry-fuzz seeds DIRECTORY", code: 64)
    }

    private static func replay(_ file: String, _ target: FuzzTarget) {
        guard let bytes = read(file) else { fail("\(file): cannot be read") }
        bytes.withUnsafeBytes { run(target, $0, named: file) }
    }

    private static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return ferror(file) == 0 ? bytes : nil }
            bytes += chunk[..<count]
        }
    }

    private static func write(_ seeds: [Seeds.Seed], to directory: String) {
        mkdir(directory, 0o755)
        for seed in seeds {
            let path = "\(directory)/\(seed.name)"
            guard let file = fopen(path, "wb") else { fail("\(path): cannot be written") }
            let written = fwrite(seed.bytes, 1, seed.bytes.count, file)
            guard fclose(file) == 0, written == seed.bytes.count else { fail("\(path): cannot be written") }
        }
    }
}
#endif

private func run(_ target: FuzzTarget, _ input: UnsafeRawBufferPointer, named name: String) {
    do {
        try target.run(input)
    } catch {
        // A trap is what libFuzzer keeps the input of.
        preconditionFailure("\(target.rawValue), \(name): \(error)")
    }
}

private func fail(_ problem: String, code: Int32 = 1) -> Never {
    let line = "belfry-fuzz: \(problem)\n"
    _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    exit(code)
}
