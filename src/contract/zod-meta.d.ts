import type { FieldMeta } from './request-fields.js';

// It has a file of its own, since the declarations of the library would contain it otherwise.
declare module 'zod' {
  interface GlobalMeta extends Partial<FieldMeta> {}
}
