const CONTENT_TYPES: Record<string, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  pdf: 'application/pdf',
};

/** Media type of an artifact, or of a format, by its extension. */
export function contentTypeOf(nameOrFormat: string): string {
  return CONTENT_TYPES[nameOrFormat.slice(nameOrFormat.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
}
