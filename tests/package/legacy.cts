/** A program in CommonJS: the package is loaded by `require`. */
import { defineJob, Engine } from "heddle";
import { memoryStore } from "heddle/testing";

export const doors = [typeof Engine, typeof defineJob, typeof memoryStore];
