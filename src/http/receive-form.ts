import type { Context } from 'hono';
import type { AppEnv, AppServices } from './app-services.js';
import { clientOf } from './exchange.js';
import { principalOf } from './guard.js';
import { type FormParts, type PackedFiles, type ReceivedForm, readForm } from './read-form.js';

/** A request with files, and how to submit it: the files are let go of once they are stored. */
export interface SubmittableForm<Body = unknown> extends ReceivedForm<Body> {
  submit: AppServices['submit'];
}

/**
 * Reads a form, which waits for a place among the uploads.
 * @throws CaptureError as `readForm`; `rate_limited` when too many wait
 */
export async function receiveForm<Body>(
  { uploads, submit }: AppServices,
  c: Context<AppEnv>,
  partsFor: (files: PackedFiles) => FormParts<Body>,
): Promise<SubmittableForm<Body>> {
  const place = await uploads.places.wait(principalOf(c).accountId, clientOf(c));
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
