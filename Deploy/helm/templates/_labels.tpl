{{/* The labels by which a role is found; the argument is a list of the root and the role's name. */}}
{{- define "belfry.role" -}}
app.kubernetes.io/name: belfry
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* The labels of what all roles share. */}}
{{- define "belfry.all" -}}
app.kubernetes.io/name: belfry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The name changes with the content, so that another configuration is rolled out like another image. */}}
{{- define "belfry.configuration" -}}
{{ .Release.Name }}-config-{{ .Values.configuration | sha256sum | trunc 10 }}
{{- end }}
