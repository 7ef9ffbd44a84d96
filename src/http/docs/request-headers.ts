import { z } from 'zod';
import { REQUEST_ID_PATTERN } from '../../contract/limits.js';

const requestId = z
  .string()
  .regex(REQUEST_ID_PATTERN)
  .optional()
  .meta({ description: 'echoed in the `x-request-id` response header; generated when it is absent or malformed' });
/** Headers that any request may have. */
export const anyHeaders = z.object({ 'X-Request-ID': requestId });
