import { isIP } from 'node:net';
import type { Artifacts } from '../artifacts/artifacts.js';
import type { BucketOptions } from '../artifacts/bucket.js';
import { artifactsDirOf, openArtifactDirectory } from '../artifacts/directory.js';
import type { Config } from '../config.js';
import { ConfigError } from '../contract/config-error.js';
import type { Log } from '../log.js';

/**
 * Opens the storage that the settings name: a bucket, or else the data directory.
 * @throws ConfigError as `bucketOf`
 */
export async function openArtifacts(config: Config, log: Log): Promise<Artifacts> {
  const bucket = bucketOf(config);
  if (bucket === null) return await openArtifactDirectory({ dir: artifactsDirOf(config.dataDir), log });
  const { openS3 } = await import('../artifacts/s3.js');
  return openS3({ ...bucket, links: config.artifactLinks === 'redirect', log });
}

/**
 * Reads the bucket from the settings; null if there is none.
 * @throws ConfigError that names the missing settings
 */
export function bucketOf(config: Config): BucketOptions | null {
  const {
    s3Endpoint: endpoint,
    s3Bucket: bucket,
    s3Region: region,
    s3AccessKeyId: accessKeyId,
    s3SecretAccessKey: secretAccessKey,
  } = config;
  const needed = {
    STILLFRAME_S3_ENDPOINT: endpoint,
    STILLFRAME_S3_BUCKET: bucket,
    STILLFRAME_S3_REGION: region,
    STILLFRAME_S3_ACCESS_KEY_ID: accessKeyId,
    STILLFRAME_S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === null ? [name] : []));
  if (missing.length === Object.keys(needed).length) {
    if (config.artifactLinks === 'redirect')
      throw new ConfigError(`STILLFRAME_ARTIFACT_LINKS is "redirect": that needs a bucket (${missing.join(', ')}).`);
    return null;
  }
  if (endpoint === null || bucket === null || region === null || accessKeyId === null || secretAccessKey === null)
    throw new ConfigError(`A bucket for the pictures is configured in part: ${missing.join(', ')} must be set, too.`);
  if (config.s3VirtualHosted && isIP(new URL(endpoint).hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw new ConfigError(
      `STILLFRAME_S3_VIRTUAL_HOSTED needs a host name in STILLFRAME_S3_ENDPOINT, which is "${endpoint}".`,
    );
  const [name = '', ...path] = bucket.split('/').filter((part) => part !== '');
  const prefix = `${path.join('/') || 'stillframe'}/`;
  return {
    endpoint,
    bucket: name,
    region,
    accessKeyId,
    secretAccessKey,
    prefix,
    virtualHosted: config.s3VirtualHosted,
  };
}
