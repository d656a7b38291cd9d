import Glibc

/// Times as RFC 3339 texts, the form of every time that a command prints.
public enum UTCTimestamp {
    /// UNIX milliseconds of the wall clock.
    @Sendable public static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// For instance `2013-04-23T09:30:00.250Z`.
    public static func text(unixMilliseconds: Int64) -> String {
        let (seconds, milliseconds) = floorDivide(unixMilliseconds, 1000)
        let (days, secondOfDay) = floorDivide(seconds, 86_400)
        let date = civilDate(daysSince1970: days)
        let clock = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { padded($0, 2) }
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
            + "T\(clock.joined(separator: ":")).\(padded(milliseconds, 3))Z"
    }

    /// For instance `2013-04-23T09:30:00.000Z`.
    public static func text(unixSeconds: Int64) -> String {
        text(unixMilliseconds: unixSeconds * 1000)
    }

    /// The proleptic Gregorian date: eras of 400 years, years that begin in March, so that the leap day comes last.
    private static func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ number: Int64, _ digits: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
