import type { Context } from 'hono';
import type { AppEnv, AppServices } from './app-services.js';
import { principalOf } from './guard.js';
import { type FormParts, type PackedFiles, type ReceivedForm, readForm } from './read-form.js';

/** A request with files, and how to submit it: the files are let go of once they are stored. */
export interface SubmittableForm<Body = unknown> extends ReceivedForm<Body> {
  submit: AppServices['submit'];
}

/**
 * Reads a form from a caller who has a place among the uploads.
 * @throws CaptureError as `readForm`; `rate_limited` when too many are being received
 */
export async function receiveForm<Body>(
  { uploads, submit }: AppServices,
  c: Context<AppEnv>,
  partsFor: (files: PackedFiles) => FormParts<Body>,
): Promise<SubmittableForm<Body>> {
  const place = uploads.places.enter(principalOf(c).accountId);
  try {
    const form = await readForm(c.env.incoming, uploads.dir, partsFor);
    const dispose = async () => {
      place[Symbol.dispose]();
      await form[Symbol.asyncDispose]();
    };
    return {
      ...form,
      submit: (submission, context) => submit(submission, { ...context, pack: form.pack }).finally(dispose),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    place[Symbol.dispose]();
    throw error;
  }
}
