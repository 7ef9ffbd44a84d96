/** Headings under which the fields of a capture request are shown, by the command line and the console. Fields are dotted wire names. */
export const FIELD_GROUPS: readonly (readonly [heading: string, fields: RegExp])[] = [
  ['Output', /^(format|quality|inspect_page)$/],
  ['HTML', /^(html|base_url)$/],
  ['What to capture', /^(full_page|full_width$|max_height$|selector$|clip\b|padding$|omit_background$|resize\b)/],
  ['PDF', /^pdf\b/],
  ['Login', /^(cookies|storage_state)$/],
  ['Viewport and device', /^(device$|viewport\.)/],
  ['Waiting', /^(delay|timeout|wait_|reduce_motion|real_time)/],
  ['Checks (the capture fails if they do not hold)', /^(fail_if_|min_capture_|tolerate$)/],
  ['Blocking and editing the page', /^(block_|hide_|remove_|custom_)/],
  ['Emulation', /^(dark_mode|color_scheme|locale|timezone|user_agent|region|verify_egress)$/],
  ['Network', /^(headers|proxy\.)/],
  ['Result and callback', /^(sync|cache_ttl|store|webhook\.)/],
];

export const OTHER_FIELDS = 'Other request options';

/** The heading of a field. A new one that no group names is among the others. */
export function fieldGroupOf(name: string): string {
  return FIELD_GROUPS.find(([, matches]) => matches.test(name))?.[0] ?? OTHER_FIELDS;
}
