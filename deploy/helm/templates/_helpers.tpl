{{- define "stillframe.name" -}}
{{ printf "%s-stillframe" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "stillframe.labels" -}}
app.kubernetes.io/name: stillframe
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "stillframe.selector" -}}
app.kubernetes.io/name: stillframe
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "stillframe.secret" -}}
{{ .Values.existingSecret | default (include "stillframe.name" .) }}
{{- end }}

{{- define "stillframe.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Settings of the servers and of the migration, without roles. */}}
{{- define "stillframe.env" -}}
- { name: STILLFRAME_BASE_URL, value: {{ required "baseUrl is required, such as https://shots.example.com" .Values.baseUrl | quote }} }
- { name: STILLFRAME_ALLOWED_HOSTS, value: {{ include "stillframe.name" . | quote }} }
- { name: STILLFRAME_S3_ENDPOINT, value: {{ required "s3.endpoint is required" .Values.s3.endpoint | quote }} }
- { name: STILLFRAME_S3_BUCKET, value: {{ required "s3.bucket is required" .Values.s3.bucket | quote }} }
- { name: STILLFRAME_S3_REGION, value: {{ .Values.s3.region | quote }} }
{{- range $name, $key := dict "DATABASE_URL" "database-url" "SECRET_KEY" "secret-key" "S3_ACCESS_KEY_ID" "s3-access-key-id" "S3_SECRET_ACCESS_KEY" "s3-secret-access-key" "METRICS_TOKEN" "metrics-token" }}
- name: STILLFRAME_{{ $name }}
  valueFrom: { secretKeyRef: { name: {{ include "stillframe.secret" $ }}, key: {{ $key }}, optional: {{ eq $key "metrics-token" }} } }
{{- end }}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "stillframe.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "stillframe.pod-security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
{{- end }}
