/**
 * A registry on loopback that has one package, read from a tarball, and redirects every other request to npm's configured registry. With it
 * a package is installed as its users install it: npm treats local tarballs differently.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/**
 * @param tarball of stillframe, as `npm pack` has made it
 * @returns its address, and `close` to stop it
 */
export async function startRegistry(tarball) {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  const bytes = readFileSync(tarball);
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://registry').pathname;
    if (path === '/stillframe')
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(packument));
    if (path === '/stillframe.tgz') return void response.end(bytes);
    response.writeHead(302, { location: new URL(request.url.slice(1), upstream).href }).end();
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const packument = describe(tarball, bytes, `${url}stillframe.tgz`);
  return { url, close: () => close(server) };
}

function close(server) {
  server.closeAllConnections();
  return new Promise((closed) => server.close(closed));
}

function describe(file, bytes, address) {
  const read = (path) =>
    execFileSync('tar', ['-xzOf', file, `package/${path}`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const manifest = JSON.parse(read('package.json'));
  const hash = (algorithm, encoding) => createHash(algorithm).update(bytes).digest(encoding);
  const { name, version } = manifest;
  const dist = { tarball: address, shasum: hash('sha1', 'hex'), integrity: `sha512-${hash('sha512', 'base64')}` };
  const { install, preinstall, postinstall } = manifest.scripts ?? {};
  const described = {
    ...manifest,
    _id: `${name}@${version}`,
    hasInstallScript: Boolean(install ?? preinstall ?? postinstall),
    dist,
  };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: described } };
}
