/** Members of requests and answers with their descriptions, as the OpenAPI document has them. */
import { z } from 'zod';

export const text = (description: string, example: string) => z.string().meta({ description, example });
export const number = (description: string, example: number) => z.number().meta({ description, example });
export const whole = (description: string, example: number) => z.int().meta({ description, example });
/** A whole number of 0 or more. */
export const count = (description: string, example: number) => z.int().min(0).meta({ description, example });
export const flag = (description: string, example: boolean) => z.boolean().meta({ description, example });
export const object = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).meta({ description });
/** A list of objects. */
export const list = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.array(z.object(shape)).meta({ description });
