import { z } from 'zod';
import { limited } from './limited.js';
import { URL_MAX_BYTES } from './limits.js';
import { normalizeTargetUrl } from './target-url.js';

/** A capture target of a request, normalised. */
export const targetUrlSchema = limited(URL_MAX_BYTES)
  .min(1)
  .transform((text, context) => {
    const target = normalizeTargetUrl(text);
    if ('url' in target) return target.url;
    context.addIssue({ code: 'custom', message: target.problem });
    return z.NEVER;
  });
