// Users of a local pipeline name lanes without naming their module.
@_exported public import RequestLanes
