import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface SignedPut {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/** Whether S3 would accept the signature of a request (AWS Signature Version 4, in the Authorization header, without a query). */
export function isSignedForS3({ method, path, headers }: SignedPut, secret: string): boolean {
  const parts = /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w{64})$/.exec(
    headers.authorization ?? '',
  );
  const [, scope = '', names = '', signature] = parts ?? [];
  const signed = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, path, '', signed.join(''), names, headers['x-amz-content-sha256']].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, digest].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((from, part) => createHmac('sha256', from).update(part).digest(), `AWS4${secret}`);
  return createHmac('sha256', key).update(text).digest('hex') === signature;
}
