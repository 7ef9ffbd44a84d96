import { captureRequestSchema } from './capture-request.js';

/** What is read of a field's schema. */
export interface FieldSchema {
  /** Its fields, of an object. */
  shape?: Record<string, unknown>;
  element?: unknown;
  def: { type: string; innerType?: unknown; options?: unknown[] };
}

/**
 * The schema of a field of a capture request, without its default and optionality; of several forms, the one that is an object.
 *
 * @param path names, and positions in lists, from the request down
 * @returns null where there is no such field
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
