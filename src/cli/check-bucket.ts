import type { BucketOptions } from '../artifacts/bucket.js';
import { BucketError } from '../artifacts/bucket-error.js';
import { silentLog } from '../log.js';

/** Advice by the code of S3 or of the network. */
const ADVICE: Record<string, string> = {
  NoSuchBucket: 'Create the bucket, or correct STILLFRAME_S3_BUCKET.',
  AccessDenied: 'Allow the access key s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket on the bucket.',
  InvalidAccessKeyId: 'Correct STILLFRAME_S3_ACCESS_KEY_ID.',
  SignatureDoesNotMatch: 'Correct STILLFRAME_S3_SECRET_ACCESS_KEY.',
  RequestTimeTooSkewed: 'Set the clock of this machine (timedatectl).',
  AuthorizationHeaderMalformed: 'Correct STILLFRAME_S3_REGION.',
  PermanentRedirect: 'Correct STILLFRAME_S3_ENDPOINT and STILLFRAME_S3_REGION: the bucket is in another region.',
};
const DEFAULT_ADVICE = 'Check that STILLFRAME_S3_ENDPOINT can be reached from this machine, and the other STILLFRAME_S3_ settings.';
const PROBE = Buffer.from('written by stillframe doctor');

/** What keeps pictures from being stored in a bucket: nothing (null), or the failed step with advice. Stores a probe, and removes it. */
export async function checkBucket(options: BucketOptions): Promise<{ problem: string; advice: string } | null> {
  const { openS3 } = await import('../artifacts/s3.js');
  await using artifacts = openS3({ ...options, links: false, log: silentLog() });
  try {
    const { name } = await artifacts.put(PROBE, 'png');
    const content = await (await artifacts.open(name))?.read();
    const isSame = content !== undefined && Buffer.concat(await content.toArray()).equals(PROBE);
    await artifacts.remove(name);
    for await (const _names of artifacts.list(0)) break;
    return isSame ? null : { problem: 'an object that was written was read with other content', advice: DEFAULT_ADVICE };
  } catch (error) {
    const { cause } = error as Error;
    if (!(cause instanceof BucketError)) throw error;
    return { problem: cause.message, advice: ADVICE[cause.code] ?? DEFAULT_ADVICE };
  }
}
