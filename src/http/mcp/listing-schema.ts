import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { EXTENSION, OWN_META_NAMES } from '../../contract/request-fields.js';

/** The arguments of a tool as JSON Schema, for clients. */
export function listingSchema(schema: z.ZodObject): Tool['inputSchema'] {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // For readers of the OpenAPI document only.
      for (const name of [...OWN_META_NAMES, ...Object.keys(EXTENSION), 'id', 'example']) delete jsonSchema[name];
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return { ...json, type: 'object' } as Tool['inputSchema'];
}
