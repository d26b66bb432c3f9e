import { z } from "zod";

export const signIn = z.object({ token: z.string().min(1).max(512) });
