"""From text to units: format, blocks, sentences, elementary discourse units, all with exact offsets."""
