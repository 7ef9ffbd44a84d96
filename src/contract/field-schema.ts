import { captureRequestSchema } from './capture-request.js';

/** The parts of a field's schema that are used. */
export interface FieldSchema {
  /** Of an object: its fields. */
  shape?: Record<string, unknown>;
  element?: unknown;
  def: { type: string; innerType?: unknown; options?: unknown[] };
}

/**
 * The schema of a field of a capture request, unwrapped from default and optional; of a union, the member that is an object.
 *
 * @param path names and list indexes, starting at the request
 * @returns null if there is no such field
 */
export function fieldSchema(path: readonly string[]): FieldSchema | null {
  let schema = bare(captureRequestSchema);
  for (const step of path) schema = bare(memberOf(schema, step));
  return schema;
}

function memberOf(schema: FieldSchema | null, step: string): unknown {
  if (schema?.element !== undefined) return schema.element;
  return schema?.shape !== undefined && Object.hasOwn(schema.shape, step) ? schema.shape[step] : null;
}

function bare(schema: unknown): FieldSchema | null {
  let inner = schema as FieldSchema | null;
  while (inner?.def.innerType !== undefined) inner = inner.def.innerType as FieldSchema;
  const forms = inner?.def.options as FieldSchema[] | undefined;
  return forms?.find((form) => form.shape !== undefined) ?? inner;
}
