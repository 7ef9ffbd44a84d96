/** The part of postject that is used; the package has no types. */
declare module 'postject' {
  export function inject(
    filename: string,
    resourceName: string,
    resource: Buffer,
    options: { sentinelFuse: string },
  ): Promise<void>;
}
