import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';

const CHART = resolve(import.meta.dirname, '../../deploy/helm');
const VALUES = [
  'baseUrl=https://shots.example.com',
  's3.endpoint=http://s3:9000',
  's3.bucket=shots',
  'secrets.databaseUrl=postgres://db/stillframe',
  'secrets.secretKey=key',
  'secrets.s3AccessKeyId=id',
  'secrets.s3SecretAccessKey=secret',
];

function helm(...args: string[]) {
  return spawnSync('helm', args, { encoding: 'utf8' });
}

function render(...values: string[]) {
  return helm('template', 'x', CHART, '--kube-version', '1.31.0', '--set', values.join(','));
}

it('the Helm chart renders servers without root, with probes, policies and a migration', ({ skip }) => {
  if (helm('version').error !== undefined) return skip('The Helm chart is not rendered: helm is missing.');
  expect(helm('lint', CHART, '--set', VALUES.join(','))).toMatchObject({ status: 0 });
  const { stdout } = render(...VALUES, 'scaling.enabled=true', 'ingress.enabled=true');
  const objects = parseAllDocuments(stdout).flatMap((document) => document.toJS() ?? []);
  const kinds = objects.map(({ kind }) => kind).sort();
  expect(kinds).toEqual(
    'Deployment Deployment Ingress Job NetworkPolicy PodDisruptionBudget PodDisruptionBudget ScaledObject Secret Service'.split(
      ' ',
    ),
  );
  for (const { spec } of objects.filter(({ kind }) => /Deployment|Job/.test(kind))) {
    const { securityContext, containers } = spec.template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 });
    expect(containers[0].securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
  for (const { spec } of objects.filter(({ kind }) => kind === 'Deployment'))
    expect(spec.template.spec.containers[0]).toMatchObject({
      livenessProbe: { httpGet: { path: '/livez' } },
      readinessProbe: { httpGet: { path: '/v1/health' } },
    });
  expect(render('baseUrl=https://shots.example.com').stderr).toContain('is required');
  expect(render(...VALUES, 'capture.replica=3').stderr).toContain("additional properties 'replica' not allowed");
});

it('the objects of the Helm chart are valid for Kubernetes', ({ skip }) => {
  if (helm('version').error !== undefined) return skip('The Helm chart is not validated: helm is missing.');
  const { stdout: input } = render(...VALUES, 'scaling.enabled=true', 'ingress.enabled=true');
  // The schema of KEDA's objects is not among those of Kubernetes.
  const args = ['-strict', '-kubernetes-version', '1.31.0', '-skip', 'ScaledObject', '-cache', tmpdir()];
  const { error, status, stdout } = spawnSync('kubeconform', args, { input, encoding: 'utf8', timeout: 60_000 });
  if (error !== undefined) return skip('The Helm chart is not validated: kubeconform is missing.');
  if (stdout.includes('failed downloading schema'))
    return skip('The Helm chart is not validated: kubeconform cannot download the schemas of Kubernetes.');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});
